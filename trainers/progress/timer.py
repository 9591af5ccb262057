"""Timer: divide the seconds of a step into parts: compute, update, communication, input."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")
Mark = float | torch.cuda.Event


@dataclass(frozen=True)
class StepTiming:
    """The marks of one step: the time from each mark to the next counts towards the part in the mark."""

    marks: list[tuple[str, Mark]]

    def seconds(self) -> dict[str, float]:
        """Return the seconds of every part; on a GPU, wait until the device has finished the step."""
        spent_s: dict[str, float] = {}
        for (part, since), (_, until) in pairwise(self.marks):
            spent_s[part] = spent_s.get(part, 0.0) + _seconds_between(since, until)
        return spent_s


class Timer:
    """Measures one part at a time, so the parts of a step add up to its wall time.

    A GPU computes after a call has returned, so on a GPU the marks are events in its stream, for which no call waits.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._marks: list[tuple[str, Mark]] = [("", 0.0)]

    def start(self, part: str) -> None:
        """Start a new step, and count its time towards `part` except inside `measure`."""
        self._marks = [(part, self._mark())]

    def stop(self) -> StepTiming:
        """Return the timing since the start."""
        self._switch("")
        return StepTiming(self._marks)

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Count the time inside towards `part` instead of the surrounding part."""
        surrounding = self._switch(part)
        try:
            yield
        finally:
            self._switch(surrounding)

    def wrap(self, part: str, function: Callable[P, R]) -> Callable[P, R]:
        """Return `function` with the time of every call counted towards `part`."""

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with self.measure(part):
                return function(*args, **kwargs)

        return call

    def _switch(self, part: str) -> str:
        before = self._marks[-1][0]
        self._marks.append((part, self._mark()))
        return before

    def _mark(self) -> Mark:
        if not self._on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch does not annotate it
        event.record()
        return event


def _seconds_between(since: Mark, until: Mark) -> float:
    if isinstance(since, float) and isinstance(until, float):
        return until - since
    assert isinstance(since, torch.cuda.Event)
    assert isinstance(until, torch.cuda.Event)
    until.synchronize()
    return float(since.elapsed_time(until)) / 1000
