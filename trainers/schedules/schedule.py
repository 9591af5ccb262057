"""A learning-rate schedule: a pure function of the run's progress in epochs.

The unit is epochs and not steps, so that a schedule does not depend on the batch size, also if the batch size changes
during the run. With a constant batch of s steps to an epoch the papers' t and T are steps: t = s e, T = s E, t/T = e/E.
"""

from collections.abc import Callable

Schedule = Callable[[float], float]  # completed epochs, including a fraction -> the rate of the next step
