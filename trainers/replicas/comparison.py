"""ReplicaComparison: whether the replicas are equal before the first step, at some steps and at each checkpoint.

Rank 0 decides when a comparison at a step is due: the comparisons take at most SHARE of the time. Its request travels
with the loss (trainers/recovery/step_agreement.py), so all ranks compare after the same step.
"""

import time
from collections.abc import Callable

from trainers.replicas.exchange import Comparers, find_difference
from trainers.replicas.values import BUFFER, Values

SHARE = 0.001  # of the time since the last comparison

DRAWN = (
    "Every rank must make the net and take the optimizer's step alike. The engine seeds the generators of torch, NumPy "
    "and Python alike for that, so look for what it cannot seed: numpy.random.default_rng() or random.Random() without "
    "a seed, os.urandom, the time, the number of the rank, the order of a set."
)
ROUNDED = "If the ranks' processors are of different types, which may round differently, set compare_replicas: false."
OWN_BUFFER = (
    "The net must change a buffer alike on every rank, such as by sums over the ranks. If each rank shall have one of "
    "its own, register the buffer with persistent=False, or let its name begin with `running_` if it is a statistic, "
    "which the engine averages for evaluations."
)


class ReplicasDiffer(RuntimeError):
    """The replicas of a run whose replicas must be equal differ."""


class ReplicaComparison:
    """Compares what `values` returns over the ranks, unless `comparers` is None.

    `only_at_start`: each replica takes its own steps, so only the initial values are equal.
    """

    def __init__(
        self, values: Callable[[], Values], comparers: Comparers | None, *, only_at_start: bool = False
    ) -> None:
        self._values, self._comparers, self._only_at_start = values, comparers, only_at_start
        self._step = -1  # of the last comparison
        self._cost_s, self._compared_at = 0.0, time.monotonic()

    def is_due(self) -> bool:
        """Return whether a comparison would take no more than its share of the time since the last one."""
        if self._comparers is None or self._only_at_start:
            return False
        return self._cost_s <= SHARE * (time.monotonic() - self._compared_at)

    def compare(self, step: int) -> None:
        """Raise ReplicasDiffer if the replicas differ after `step` steps; all ranks call this together.

        After a step that was compared already, nothing happens.
        """
        if self._comparers is None or step == self._step or (self._only_at_start and step):
            return
        if self._step < 0:
            self._comparers.watch.barrier()  # the wait for ranks that started later is no cost of a comparison
        start = time.monotonic()
        difference = find_difference(self._values(), self._comparers)
        self._step, self._compared_at = step, time.monotonic()
        self._cost_s = self._compared_at - start
        if difference is not None:
            when = f"after step {step}" if step else "before the first step"
            advice = f"{OWN_BUFFER if difference.name.startswith(BUFFER) else DRAWN} {ROUNDED}"
            raise ReplicasDiffer(f"{difference.describe('the replicas', when)}. {advice}")
