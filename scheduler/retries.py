"""Growing waits between the tries of what fails again and again, in the memory of a worker."""

import time
from collections.abc import Hashable

FIRST_S, LONGEST_S = 20.0, 3600.0


class Retries:
    """When what has failed may be tried again: each failure doubles the wait. A worker that restarts tries at once."""

    def __init__(self) -> None:
        self._waits: dict[Hashable, tuple[float, float]] = {}  # until when (time.monotonic), and for how long

    def is_due(self, key: Hashable) -> bool:
        """Return whether it has never failed, or may be tried again."""
        return time.monotonic() >= self._waits.get(key, (0.0, 0.0))[0]

    def note_failure(self, key: Hashable) -> float:
        """Return for how many seconds it is left alone now."""
        wait_s = min(2 * self._waits.get(key, (0.0, FIRST_S / 2))[1], LONGEST_S)
        self._waits[key] = (time.monotonic() + wait_s, wait_s)
        return wait_s

    def forget(self, key: Hashable) -> None:
        """Begin anew: it succeeded."""
        self._waits.pop(key, None)
