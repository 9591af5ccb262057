"""The spec of a run's checkpoints, and of a start from another run's."""

from typing import Annotated

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive


class Checkpoint(Spec):
    """When to save: as soon as any of these intervals has passed, and before every requested pause.

    The default of ten minutes avoids any cost for runs of a few minutes.
    """

    every_minutes: Positive | None = 10.0
    """Interval in minutes; null: no interval in minutes."""
    every_steps: Count | None = Field(default=None, examples=[1000])
    """Interval in steps; null: no interval in steps."""
    every_epochs: Count | None = Field(default=None, examples=[5])
    """Interval in epochs; null: no interval in epochs."""
    at_end: bool = False
    """Whether to save after the last step too."""
    keep: Count = 2
    """Number of stored checkpoints; older ones are deleted."""
    accept_new_data: bool = False
    """Whether to resume with data whose sizes or labels are not those of the checkpoint."""


class InitialWeights(Spec):
    """The weights that another run evaluates, from its newest checkpoint at the time of the submission."""

    run: Annotated[int, Field(ge=0, lt=2**31)] = Field(examples=[12])
    """Id of the run, which must have the same net."""
    folder: Annotated[str, Field(max_length=4096)] | None = Field(
        default=None, examples=["/shared/bigbatch/runs/000012-1f0c9a2b3d4e"]
    )
    """Folder of the run; the service sets it."""
    checkpoint: Annotated[str, Field(pattern=r"^step-[0-9]{10}-attempt-[0-9]{1,9}$")] | None = Field(
        default=None, examples=["step-0000004875-attempt-1"]
    )
    """Name of the checkpoint; the service sets it."""
