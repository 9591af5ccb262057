"""The spec of batch normalization; a net without batch normalization ignores it."""

from typing import Literal

from contract.spec.base import Spec
from contract.spec.numbers import Count


class BatchNorm(Spec):
    """The ranks that share training statistics, and the statistics that an evaluation uses."""

    group: Count = 1
    """Number of consecutive ranks that normalize over their common batch; divides the number of ranks."""
    statistics: Literal["moving_average", "last_batch"] = "moving_average"
    """Statistics that an evaluation uses; both are averaged over all ranks."""
