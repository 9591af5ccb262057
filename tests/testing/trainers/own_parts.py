"""A user's own parts: a data set, an optimizer, a schedule, a loss, an augmentation and metrics."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss


class Spots:
    """Images (1, 8, 8) with noise and a bright row for each class; the noise is drawn anew for every read."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        image = torch.randn(1, 8, 8) + np.random.rand() + random.random()
        image[:, number % 4] += 3
        return image, number % 4


def spots(samples: int = 64, heldout: int = 10) -> tuple[Spots, Spots]:
    """Return a training and a held-out set of four classes."""
    return Spots(samples), Spots(heldout)


def points(samples: int = 64) -> tuple[list[Any], list[Any]]:
    """Return pairs of a vector and its mean: no images and no classes."""
    generator = torch.Generator().manual_seed(0)
    x_N5 = torch.randn(samples, 5, generator=generator)
    pairs = [(x_5, x_5.mean(dim=0, keepdim=True)) for x_5 in x_N5]
    return pairs, pairs[:8]


def line(shape: tuple[int, ...], classes: int | None) -> nn.Module:
    """Return a linear net."""
    return nn.Linear(shape[0], classes or 1)


class SignMomentum(torch.optim.Optimizer):
    """Steps along the sign of the momentum."""

    def __init__(self, params: Any, *, momentum: float = 0.9) -> None:
        super().__init__(params, {"lr": 0.0, "momentum": momentum, "weight_decay": 0.1})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter."""
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["steps"] = state.get("steps", 0) + 1
                v = state.setdefault("v", torch.zeros_like(p))
                v.mul_(group["momentum"]).add_(p.grad)
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * v.sign())


def falling(epochs: int, *, peak: float = 0.01) -> Callable[[float], float]:
    """Return a rate that falls in a line."""
    return lambda epoch: peak * (1 - epoch / (epochs + 1))


def focal(gamma: float = 2.0) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the focal loss."""

    def loss(logits_BK: Tensor, y_B: Tensor) -> Tensor:
        losses_B = cross_entropy(logits_BK, y_B, reduction="none")
        return ((1 - torch.exp(-losses_B)) ** gamma * losses_B).mean()

    return loss


def squares() -> Callable[[Tensor, Tensor], Tensor]:
    """Return the mean of squares."""
    return mse_loss


def shift(most: int = 1) -> Callable[[Tensor], Tensor]:
    """Return a function that rolls an image and adds noise, from all three generators."""

    def augment(x_CHW: Tensor) -> Tensor:
        rolled = x_CHW.roll((random.randint(-most, most), int(np.random.randint(-most, most + 1))), dims=(1, 2))
        return rolled + 0.01 * torch.randn_like(rolled)

    return augment


def top(k: int = 2) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the fraction of samples whose class is among the k largest outputs."""
    return lambda logits_BK, y_B: (logits_BK.topk(k).indices == y_B[:, None]).any(dim=1).double().mean()


def returning(value: Any = None) -> Callable[..., Any]:
    """Return a function that returns `value`, whatever it gets."""
    return lambda *given: value
