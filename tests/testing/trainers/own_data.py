"""Data sets of a user whose labels or types are not what torch's functions expect."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

CLASSES = 4
Label = Any


class Labelled:
    """Images (1, 8, 8) with a bright row for each class, of which some samples have other labels."""

    def __init__(self, samples: int, *, wrong: dict[int, Label] | None = None, like: Any = int) -> None:
        self.samples, self.wrong, self.like = samples, wrong or {}, like
        self.read: list[int] = []

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, number: int) -> tuple[Any, Label]:
        self.read.append(number)
        x_CHW = torch.zeros(1, 8, 8)
        x_CHW[:, number % CLASSES] = 1
        return x_CHW, self.wrong.get(number, self.like(number % CLASSES))


def labelled(wrong: int = 64, label: int = -100, set_: str = "heldout") -> tuple[Labelled, Labelled]:
    """Return a training and a held-out set, of which one has a wrong label."""
    train, heldout = (Labelled(64, wrong={wrong: label} if name == set_ else None) for name in ("train", "heldout"))
    return train, heldout


class Typed(Labelled):
    """The same with inputs of a NumPy type; a target is a class or, with `regresses`, the input's mean."""

    def __init__(self, dtype: str, *, regresses: bool) -> None:
        super().__init__(64)
        self.dtype, self.regresses = np.dtype(dtype), regresses

    def __getitem__(self, number: int) -> tuple[Any, Label]:
        x_CHW, label = super().__getitem__(number)
        x = x_CHW.numpy().astype(self.dtype)
        return x, x.mean(keepdims=True).reshape(1) * (1 + label) if self.regresses else np.uint8(label)


def typed(dtype: str = "float64", regresses: bool = False) -> tuple[Typed, Typed]:
    """Return a training and a held-out set."""
    return Typed(dtype, regresses=regresses), Typed(dtype, regresses=regresses)


class Seen(nn.Module):
    """A linear net that requires inputs of its own type."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.head = nn.Linear(64, outputs)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        assert x_BCHW.dtype == self.head.weight.dtype
        logits_BK: Tensor = self.head(x_BCHW.flatten(1))
        return logits_BK


def linear(channels: int, classes: int | None, dtype: str = "float32", outputs: int | None = None) -> nn.Module:
    """Return a net of a type, by default with as many outputs as there are classes."""
    return Seen(outputs or classes or 1).to(getattr(torch, dtype))
