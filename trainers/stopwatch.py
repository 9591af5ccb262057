"""A stopwatch that sorts the seconds of a step into parts: compute, communication, input."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")


class Stopwatch:
    """Runs for one part at a time; the parts of a step add up to its wall time."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._spent_s: dict[str, float] = {}
        self._part = ""
        self._since = 0.0

    def start(self, part: str) -> None:
        """Forget all and count towards `part`, except while another one is measured."""
        self._spent_s = {}
        self._part, self._since = part, self._now()

    def stop(self) -> dict[str, float]:
        """Return the seconds of every part since the start."""
        self._switch("")
        return self._spent_s

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
        before, now = self._part, self._now()
        self._spent_s[before] = self._spent_s.get(before, 0.0) + now - self._since
        self._part, self._since = part, now
        return before

    def _now(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)  # a GPU works on after the call returns
        return time.perf_counter()
