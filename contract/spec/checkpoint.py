"""How often a run saves itself, and what it costs."""

from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive


class Checkpoint(Spec):
    """When to save: as soon as any of these says so, and whenever the run is told to pause.

    By default every ten minutes, so that a run of a few minutes pays nothing.
    """

    every_minutes: Positive | None = 10.0
    every_steps: Count | None = None
    every_epochs: Count | None = None
    at_end: bool = False  # the last step too, for whoever wants the weights
    keep: Count = 2  # the last so many are kept
