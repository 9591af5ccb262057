"""A user's parts that draw: from generators that the engine seeds, and from sources that it cannot seed."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import Subset, TensorDataset, random_split

SAMPLES, HELD_OUT = 48, 16


def points() -> TensorDataset:
    """Return images (1, 8, 8) of four classes; the labels have no order."""
    generator = torch.Generator().manual_seed(5)
    y_N = torch.randint(4, (SAMPLES + HELD_OUT,), generator=generator)
    x_NCHW = torch.randn(len(y_N), 1, 8, 8, generator=generator) + y_N[:, None, None, None]
    return TensorDataset(x_NCHW, y_N)


def split_by(source: str) -> tuple[Any, Any]:
    """Return a random division into training and held-out samples, from a generator that has no seed here."""
    whole = points()
    if source == "torch":
        train, heldout = random_split(whole, [SAMPLES, HELD_OUT])
        return train, heldout
    order = {
        "numpy": lambda: np.random.permutation(len(whole)).tolist(),
        "python": lambda: random.sample(range(len(whole)), len(whole)),
        "unseeded": lambda: np.random.default_rng().permutation(len(whole)).tolist(),
    }[source]()
    return Subset(whole, order[:SAMPLES]), Subset(whole, order[SAMPLES:])


def split_of(path: str) -> tuple[Any, Any]:
    """Return a division whose seed stands in a file."""
    order = np.random.default_rng(int(Path(path).read_text())).permutation(SAMPLES + HELD_OUT).tolist()
    return Subset(points(), order[:SAMPLES]), Subset(points(), order[SAMPLES:])


def of_another_size() -> tuple[Any, Any]:
    """Return one sample more on rank 1."""
    whole = points()
    return Subset(whole, range(SAMPLES)), Subset(whole, range(SAMPLES, SAMPLES + HELD_OUT - dist.get_rank()))


Draw = Callable[[tuple[int, ...]], Any]


class Net(nn.Module):
    """A net whose weights are made by `draw`, with a buffer that counts `steps` in each forward pass."""

    def __init__(self, draw: Draw, *, buffer: str = "", per_rank: bool = False, persistent: bool = True) -> None:
        super().__init__()
        self.fc = nn.Linear(64, 4)
        self._buffer, self._per_rank = buffer, per_rank
        with torch.no_grad():
            self.fc.weight.copy_(torch.as_tensor(np.asarray(draw((4, 64)))))
        if buffer:
            self.register_buffer(buffer, torch.zeros(3), persistent=persistent)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return the logits."""
        if self.training and self._buffer:
            getattr(self, self._buffer).add_(x_BCHW.mean() if self._per_rank else 1.0)
        logits_BK: Tensor = self.fc(x_BCHW.flatten(1))
        return logits_BK


DRAWS: dict[str, Draw] = {
    "torch": lambda shape: 0.1 * torch.randn(shape),
    "numpy": lambda shape: 0.1 * np.random.randn(*shape),
    "python": lambda shape: [[random.gauss(0, 0.1) for _ in range(shape[1])] for _ in range(shape[0])],
    "urandom": lambda shape: np.frombuffer(os.urandom(4 * 64), np.uint8).reshape(shape) / 2550,
    "unseeded": lambda shape: 0.1 * np.random.default_rng().normal(size=shape),
}


def net(channels: int, classes: int, draw: str = "torch", **options: Any) -> Net:
    """Return the net of a way to draw."""
    return Net(DRAWS[draw], **options)


def half_frozen(channels: int, classes: int) -> Net:
    """Return a net of which rank 1 trains no bias."""
    built = Net(DRAWS["torch"])
    built.fc.bias.requires_grad_(dist.get_rank() == 0)
    return built


class NoisySGD(torch.optim.Optimizer):
    """Adds noise of a source in each step."""

    def __init__(self, params: Any, *, noise: str = "torch") -> None:
        super().__init__(params, {"lr": 0.0})
        self._noise = noise

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter."""
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(group["lr"] * (p.grad + 0.1 * _noise(self._noise, p.shape)))


def _noise(source: str, shape: tuple[int, ...]) -> Tensor:
    if source == "numpy":
        return torch.from_numpy(np.random.randn(*shape)).float()
    if source == "python":
        return torch.full(shape, random.gauss(0, 1))
    if source == "rank":
        return torch.full(shape, float(dist.get_rank()))
    return torch.randn(shape)


class RankState(NoisySGD):
    """Stores the rank in its state, which changes no weight."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["seen"] = torch.tensor(float(dist.get_rank()))
                p.sub_(group["lr"] * p.grad)
