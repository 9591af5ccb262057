"""The options of K-FAC, some of which change at given steps."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch

Method = Literal["eigen", "inverse"]


@dataclass(frozen=True)
class Staged:
    """The value of a step: `first` until the first stage, then that of the newest stage; stages ascend by step."""

    first: float
    stages: Sequence[tuple[int, float]] = ()

    def at(self, step: int) -> float:
        """Return the value at a step."""
        begin = self._begin(step)
        return self.first if begin is None else self.stages[begin][1]

    def is_due(self, step: int) -> bool:
        """Return whether an update with these intervals is due before a step; it is at the begin of each stage."""
        begin = self._begin(step)
        since, every = (0, self.first) if begin is None else self.stages[begin]
        return (step - since) % round(every) == 0

    def _begin(self, step: int) -> int | None:
        number = bisect_right([begin for begin, _ in self.stages], step) - 1
        return None if number < 0 else number


@dataclass(frozen=True)
class KFACOptions:
    """What decides the result and the cost of K-FAC; `fraction`: see assignment.py."""

    factor_every: Staged = field(default_factory=lambda: Staged(1))  # steps between two updates of the factors
    inverse_every: Staged = field(default_factory=lambda: Staged(1))  # steps between two updates of the inverses
    damping: Staged = field(default_factory=lambda: Staged(0.01))
    decay: float = 0.95  # of the running averages of the factors
    kl_clip: float | None = 0.001
    method: Method = "eigen"
    fraction: float = 1.0  # of the ranks that hold the inverses of a layer
    factor_dtype: torch.dtype = torch.float32  # of the factors in messages
    skip: Sequence[str] = ()  # patterns of names and kinds of layers
    largest_factor: int | None = None  # layers with a larger factor are skipped
    timeout_s: float = 300.0  # of the exchanges of inverses and gradients
