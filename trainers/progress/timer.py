"""A stopwatch that sorts the seconds of a step into parts: compute, update, communication, input."""

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
class Lap:
    """One step on the watch: from every mark on, time counts towards the part beside it."""

    marks: list[tuple[str, Mark]]

    def seconds(self) -> dict[str, float]:
        """Return the seconds of every part; of a GPU's step once the device has come to its end."""
        spent_s: dict[str, float] = {}
        for (part, since), (_, until) in pairwise(self.marks):
            spent_s[part] = spent_s.get(part, 0.0) + _between(since, until)
        return spent_s


class Stopwatch:
    """Runs for one part at a time; the parts of a step add up to its wall time.

    A GPU works on after a call returns, so there the marks are put into its own stream of work, which nobody waits for.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._marks: list[tuple[str, Mark]] = [("", 0.0)]

    def start(self, part: str) -> None:
        """Forget all and count towards `part`, except while another one is measured."""
        self._marks = [(part, self._mark())]

    def stop(self) -> Lap:
        """Return the parts since the start."""
        self._switch("")
        return Lap(self._marks)

    @contextmanager
    def during(self, part: str) -> Iterator[None]:
        """Count towards `part`, and not towards the one around it."""
        around = self._switch(part)
        try:
            yield
        finally:
            self._switch(around)

    def timed(self, part: str, function: Callable[P, R]) -> Callable[P, R]:
        """Return `function` with every call counted towards `part`."""

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with self.during(part):
                return function(*args, **kwargs)

        return call

    def _switch(self, part: str) -> str:
        before = self._marks[-1][0]
        self._marks.append((part, self._mark()))
        return before

    def _mark(self) -> Mark:
        if not self._on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event


def _between(since: Mark, until: Mark) -> float:
    if isinstance(since, float) and isinstance(until, float):
        return until - since
    assert isinstance(since, torch.cuda.Event)
    assert isinstance(until, torch.cuda.Event)
    until.synchronize()
    return float(since.elapsed_time(until)) / 1000
