"""The spec of a run's checkpoints."""

from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive


class Checkpoint(Spec):
    """When to save: as soon as any of these intervals has passed, and before every requested pause.

    The default of ten minutes avoids any cost for runs of a few minutes.
    """

    every_minutes: Positive | None = 10.0
    every_steps: Count | None = None
    every_epochs: Count | None = None
    at_end: bool = False  # also save after the last step
    keep: Count = 2  # number of stored checkpoints; older ones are deleted
