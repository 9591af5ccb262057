"""The objective of an experiment and its best run, as the API shows them."""

from pydantic import Field

from contract.described_model import DescribedModel
from contract.spec.objective import Goal, Which


class ShownObjective(DescribedModel):
    """What an experiment improves."""

    metric: str = Field(examples=["val_loss"])
    """Name of the metric."""
    goal: Goal = Field(examples=["min"])
    """Whether the least or the greatest value is the best one."""
    value: Which = Field(examples=["best"])
    """Which value of the metric is the run's: the best one of its curve, or the last one."""


class BestValue(DescribedModel):
    """The best value of an experiment's objective."""

    value: float = Field(examples=[0.41])
    """The value."""
    run: int = Field(examples=[42])
    """Id of the run that has it; of several runs the first one."""
