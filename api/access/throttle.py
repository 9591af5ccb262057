"""The count of failed attempts per client address."""

import math

MAX_FAILURES = 10  # failures of one address within WINDOW_S that are answered with 401
WINDOW_S = 60.0
MAX_ADDRESSES = 10_000  # bounds the memory under an attack from many addresses


class Throttle:
    """Count the failed attempts of each client address within a window of time."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[int, float]] = {}  # address -> failures, end of the window; oldest first

    def record_failure(self, address: str, *, now: float) -> int:
        """Record a failure; return the seconds that the address must wait, 0 while it has had few failures."""
        failures, ends_at = self._windows.get(address, (0, 0.0))
        if now >= ends_at:
            self._windows.pop(address, None)
            failures, ends_at = 0, now + WINDOW_S
        self._windows[address] = failures + 1, ends_at
        if len(self._windows) > MAX_ADDRESSES:
            del self._windows[next(iter(self._windows))]
        return math.ceil(ends_at - now) if failures >= MAX_FAILURES else 0
