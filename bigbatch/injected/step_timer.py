"""StepTimer: divide the wall time of each step of a program into compute, update, communication and input.

A step lasts from the end of one optimizer step to the end of the next one. The timer measures one part at a time, as
the engine does (trainers/progress/timer.py), so the parts of a step add up to its wall time; what no call measures is
compute. On a GPU the marks are events in the stream of the training, for which no call waits: a part is the time for
which that stream could not continue, and communication that overlaps with computation costs nothing.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from bigbatch.injected.parts import COMMUNICATION_S, COMPUTE_S, MEASURED_PARTS

MAX_UNREAD = 10_000  # steps that nothing has read yet; older ones are dropped


class StepTimer:
    """Measures the steps of this process; no method raises or waits."""

    def __init__(self) -> None:
        self.steps = 0  # that have ended
        self.is_off = False
        self.in_backward = False
        self._thread = threading.main_thread().ident
        self._part = COMPUTE_S
        # of the step, each for the time until the next mark; None before the end of the first step
        self._marks: list[tuple[str, Any]] | None = None
        self._stream: Any = None  # the GPU stream of the training; None on a CPU
        self._cuda: Any = None
        self._ended: deque[tuple[int, list[tuple[str, Any]]]] = deque(maxlen=MAX_UNREAD)  # by number from 1
        self._events: list[Any] = []  # that can be used again

    def enter(self, part: str) -> str | None:
        """Count the time from now on towards `part`; return what `leave` needs."""
        try:
            if self._marks is None or self.is_off or not self._is_counted(part):
                return None
            before = self._part
            if before != part:
                self._mark(part)
            return before
        except Exception:
            self.is_off = True
            return None

    def leave(self, before: str | None) -> None:
        """Count the time from now on towards the part before `enter`."""
        try:
            if before is not None and before != self._part and self._marks is not None and not self.is_off:
                self._mark(before)
        except Exception:
            self.is_off = True

    def end_step(self, cuda: Any = None) -> None:
        """End a step; `cuda` is the module torch.cuda if the weights are on a GPU."""
        try:
            self._thread = threading.get_ident()
            if cuda is not None and cuda.is_current_stream_capturing():
                return
            stream = cuda.current_stream() if cuda is not None else None
            if stream != self._stream:  # the first step, or the program changed its stream: a step is not measured
                self._stream, self._cuda, self._marks = stream, cuda, None
            self.steps += 1
            if self._marks is not None:
                self._mark(COMPUTE_S)
                self._ended.append((self.steps, self._marks))
            self._marks = [self._marks[-1] if self._marks else (COMPUTE_S, self._now())]
            self._part = COMPUTE_S
        except Exception:
            self.is_off = True

    def take_ended(self) -> list[tuple[int, list[float]]]:
        """Return the number and the seconds by MEASURED_PARTS of each step that has ended, on a GPU on the device too.

        Each step is returned once.
        """
        taken = []
        while self._ended and not self.is_off:
            step, marks = self._ended[0]
            is_on_gpu = not isinstance(marks[-1][1], float)
            if is_on_gpu and not marks[-1][1].query():
                break
            taken.append((step, self._seconds(marks)))
            self._ended.popleft()
            if is_on_gpu and len(self._events) < MAX_UNREAD:
                self._events.extend(mark for _, mark in marks[:-1])  # the last one begins the next step
        return taken

    def _is_counted(self, part: str) -> bool:
        """Return whether the calling thread is the training's: others overlap with it, and cost it nothing."""
        thread = threading.get_ident()
        if thread != self._thread and not (part == COMMUNICATION_S and self._is_autograd_of_gpu(thread)):
            return False
        return self._stream is None or (
            not self._cuda.is_current_stream_capturing() and self._cuda.current_stream() == self._stream
        )

    def _is_autograd_of_gpu(self, thread: int) -> bool:
        """Return whether a thread is one of autograd's own, in which the training's backward pass runs on a GPU."""
        if self._stream is None or not self.in_backward:
            return False
        started = [other for other in threading.enumerate() if not other.name.startswith("Dummy-")]
        return all(other.ident != thread for other in started)

    def _mark(self, part: str) -> None:
        assert self._marks is not None
        self._marks.append((part, self._now()))
        self._part = part

    def _now(self) -> Any:
        if self._stream is None:
            return time.perf_counter()
        event = self._events.pop() if self._events else self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def _seconds(self, marks: list[tuple[str, Any]]) -> list[float]:
        spent_s = dict.fromkeys(MEASURED_PARTS, 0.0)
        for index in range(1, len(marks)):
            (part, since), until = marks[index - 1], marks[index][1]
            spent_s[part] += until - since if isinstance(since, float) else since.elapsed_time(until) / 1000
        return [spent_s[part] for part in MEASURED_PARTS]
