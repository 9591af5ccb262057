"""How long the outputs of a run remain."""

from typing import Annotated, Literal

from pydantic import Field

from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive


class AllOutputs(Spec):
    """No output is removed."""

    kind: Literal["all"] = "all"


class LastOutputs(Spec):
    """The outputs of the runs of the experiment that ended last remain, once all runs of the experiment have ended."""

    kind: Literal["last"] = "last"
    runs: Count = Field(examples=[3])
    """Number of runs whose outputs remain."""


class BestOutputs(Spec):
    """The outputs of the best runs of the experiment remain, once all runs of the experiment have ended."""

    kind: Literal["best"] = "best"
    metric: Annotated[str, Field(min_length=1, max_length=200)] = HELDOUT_ACCURACY
    """Metric by whose best value runs are compared: the largest of an accuracy, the least of a loss."""
    runs: Count = 1
    """Number of runs whose outputs remain."""


class RecentOutputs(Spec):
    """Outputs remain for so long after the end of their run, and until all runs of the experiment have ended."""

    kind: Literal["days"] = "days"
    days: Positive = Field(examples=[30])
    """Number of days."""


OutputRetention = Annotated[AllOutputs | LastOutputs | BestOutputs | RecentOutputs, Field(discriminator="kind")]
