"""How batch normalization takes its statistics; a net without it ignores this."""

from typing import Literal

from contract.spec.base import Spec
from contract.spec.numbers import Count


class BatchNorm(Spec):
    """Over which samples the statistics are in training, and which ones an evaluation takes."""

    group: Count = 1  # ranks, next to each other, that normalize over their common batch
    statistics: Literal["moving_average", "last_batch"] = "moving_average"  # averaged over ranks in either case
