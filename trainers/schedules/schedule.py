"""A learning-rate schedule: a pure function of how far the run is, in epochs.

Epochs and not steps, so that a schedule stands whatever the batch is, and stays what it is where the batch grows during
the run. With a constant batch of s steps to an epoch the papers' t and T are steps: t = s e, T = s E, t/T = e/E.
"""

from collections.abc import Callable

Schedule = Callable[[float], float]  # epochs done so far, whole or in part -> the rate of the next step
