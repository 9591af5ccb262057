"""The spec of a run's checkpoints."""

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
