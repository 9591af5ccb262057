"""Helpers for the tests of optimizers: layers to train, and tensors as lists of numbers."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

SHAPES = [(4, 3, 3, 3), (10, 7), (5,), (6, 2)]


def flat(tensor: Tensor) -> list[float]:
    return tensor.flatten().double().tolist()


def norm(numbers: list[float]) -> float:
    return math.sqrt(sum(x * x for x in numbers))


def trained(
    make: Callable[[list[nn.Parameter]], torch.optim.Optimizer],
    rates: list[float],
    *,
    layout: str = "alike",
    dtype: torch.dtype = torch.float64,
) -> tuple[list[Tensor], list[list[Tensor]], list[Tensor]]:
    """Run one step per rate; return the initial layers, the gradients of each layer, and the final layers.

    The last layer starts at 0, and the second has a gradient of 0 at first. In a "mixed" layout the gradients lie in
    memory otherwise than their weights.
    """
    torch.manual_seed(0)
    starts = [torch.randn(shape, dtype=dtype) for shape in SHAPES[:-1]] + [torch.zeros(SHAPES[-1], dtype=dtype)]
    grads = [[torch.randn_like(start) for _ in rates] for start in starts]
    grads[1][0].zero_()
    params = [nn.Parameter(start.clone()) for start in starts]
    optimizer = make(params)
    for t, rate in enumerate(rates):
        optimizer.param_groups[0]["lr"] = rate
        for p, of_p in zip(params, grads, strict=True):
            p.grad = turned(of_p[t]) if layout == "mixed" else of_p[t].clone()
        optimizer.step()
    return starts, grads, [p.detach() for p in params]


def turned(tensor: Tensor) -> Tensor:
    """Return the same tensor with its first dimension last in memory."""
    return tensor.movedim(0, -1).contiguous().movedim(-1, 0)
