"""The nets, data sets, loss, optimizer and schedule of the cases, which a spec names as a user's own parts."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tests.testing.trainers.differential.parts import (
    CHANNELS,
    FEATURES,
    LENGTH,
    PARTS,
    Counting,
    OtherType,
    Sometimes,
)

NETS = __name__  # as a spec names this module
CLASSES, VOCABULARY = 3, 7
SHAPES = {"images": [1, 8, 8], "vectors": [5], "tokens": [CHANNELS]}


class Net(nn.Module):
    """A stem that makes features of the inputs, parts in a row, and a linear layer of the classes."""

    def __init__(self, parts: Sequence[str], *, inputs: str, dtype: torch.dtype, passes: int, drawn: float) -> None:
        super().__init__()
        self.stem = _stem(inputs).to(dtype)
        self.parts = nn.ModuleList(_part(name, dtype, passes) for name in parts)
        self.head = nn.Linear(FEATURES, CLASSES).to(dtype)
        self.drawn = nn.Parameter(torch.full((CLASSES,), drawn, dtype=dtype))

    def forward(self, raw: Tensor) -> Tensor:
        """Return the logits of the classes."""
        x_BF = self.stem(raw)
        for part in self.parts:
            if isinstance(part, Sometimes):
                part.raw = raw
            x_BF = part(x_BF)
        logits: Tensor = self.head(x_BF) + self.drawn
        return logits


def net(
    *,
    classes: int,
    parts: Sequence[str],
    inputs: str,
    dtype: str,
    passes: int,
    draws: str,
    channels: int = 0,
    shape: Sequence[int] = (),
) -> nn.Module:
    """Return the net of a case; it draws from torch's generator and from the one that `draws` names."""
    drawn = {"torch": lambda: float(torch.rand(())), "python": random.random, "numpy": lambda: float(np.random.rand())}
    return Net(parts, inputs=inputs, dtype=getattr(torch, dtype), passes=passes, drawn=drawn[draws]())


def _stem(inputs: str) -> nn.Module:
    if inputs == "images":
        return nn.Sequential(nn.Conv2d(1, CHANNELS, 3, stride=4, padding=1), nn.Flatten())
    if inputs == "tokens":
        return nn.Sequential(nn.Embedding(VOCABULARY, LENGTH), nn.Flatten())
    return nn.Linear(SHAPES["vectors"][0], FEATURES)


def _part(name: str, dtype: torch.dtype, passes: int) -> nn.Module:
    part = PARTS[name]()
    if isinstance(part, Counting):
        part.passes_per_step = passes
    return part.to(part.own_dtype if isinstance(part, OtherType) else dtype)


def data(*, seed: int, inputs: str, dtype: str, train: int, heldout: int) -> tuple[list[Any], list[Any]]:
    """Return a training and a held-out set: random inputs, whose class shows in their mean."""
    generator = torch.Generator().manual_seed(seed)
    samples = [_sample(inputs, getattr(torch, dtype), generator) for _ in range(train + heldout)]
    return samples[:train], samples[train:]


def _sample(inputs: str, dtype: torch.dtype, generator: torch.Generator) -> tuple[Tensor, int]:
    label = int(torch.randint(CLASSES, (), generator=generator))
    if inputs == "tokens":
        return torch.randint(label, VOCABULARY - CLASSES + label, SHAPES[inputs], generator=generator), label
    return torch.randn(SHAPES[inputs], generator=generator, dtype=dtype) + label - 1, label


def loss(*, power: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a loss that gives more weight to samples with a large cross-entropy."""
    return lambda logits_BK, y_B: cross_entropy(logits_BK, y_B, reduction="none").pow(power).mean()


class SoftSteps(torch.optim.Optimizer):
    """A user's optimizer: momentum whose steps have a bounded size; it has no weight decay of the engine's kind."""

    def __init__(self, groups: Any, *, momentum: float = 0.8, weight_decay: float = 0.01) -> None:
        super().__init__(groups, {"lr": 0.0, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
                velocity.mul_(group["momentum"]).add_(p.grad)
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * velocity / (1 + velocity.abs()))


def waves(*, epochs: int, rate: float) -> Callable[[float], float]:
    """Return a rate that rises and falls twice."""
    return lambda epoch: rate * (1.5 + math.sin(4 * math.pi * epoch / epochs)) / 2
