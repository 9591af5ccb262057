"""Counter of end requests (Ctrl-C, TERM, a closed terminal), so that no operation is interrupted halfway."""

import signal
import time
from types import FrameType, TracebackType
from typing import Any, Self

ONE_REQUEST_S = 0.5  # make and timeout repeat a signal to the process group, so two signals may be one request


class Interrupts:
    """Count signals inside the context; `raise_if_any` raises KeyboardInterrupt after the first signal."""

    def __init__(self) -> None:
        self.count = 0
        self._at = float("-inf")
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup means to ignore SIGHUP; a shell ignores SIGINT of each `COMMAND &`, which `kill -INT` still ends
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._count)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def raise_if_any(self) -> None:
        """Raise KeyboardInterrupt if a signal has arrived."""
        if self.count:
            raise KeyboardInterrupt

    def _count(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        self.count += now - self._at > ONE_REQUEST_S
        self._at = now
