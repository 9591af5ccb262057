"""Requests to end (Ctrl-C, TERM, a closed terminal), counted, so that they break nothing off halfway."""

import signal
import time
from types import FrameType, TracebackType
from typing import Any, Self

ONE_WISH_S = 0.5  # a signal to the whole group may come twice: make and timeout hand it on as well


class Interrupts:
    """While entered, signals are counted; `pause` is where the first one is raised."""

    def __init__(self) -> None:
        self.count = 0
        self._at = float("-inf")
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def raise_if_any(self) -> None:
        """Raise KeyboardInterrupt if the end was asked for."""
        if self.count:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        self.count += now - self._at > ONE_WISH_S
        self._at = now
