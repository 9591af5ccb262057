"""What optimizers with a rate per layer share: layers taken together, their norms, the ratio of norms.

Every tensor is one layer. Legend of shapes: L layers taken together.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

CACHE_NUMBERS = 2**20  # weights taken together on a CPU: what the norms read is in its cache when the step comes


def together(params: list[Tensor]) -> Iterator[list[Tensor]]:
    """Yield the parameters that have a gradient in lists to step at once, each on one device and of one type.

    On a CPU a list holds about a cache's worth, so that a layer travels once from memory and not once per operation;
    elsewhere it holds all, since there a launch costs more than the way.
    """
    batch: list[Tensor] = []
    numbers = 0
    for p in params:
        if p.grad is None:
            continue
        if p.grad.layout != torch.strided:
            raise ValueError(f"a gradient of layout {p.grad.layout}: a layer's norm is that of a dense tensor")
        full = p.device.type == "cpu" and numbers + p.numel() > CACHE_NUMBERS
        if batch and (full or (p.device, p.dtype) != (batch[0].device, batch[0].dtype)):
            yield batch
            batch, numbers = [], 0
        batch.append(p)
        numbers += p.numel()
    if batch:
        yield batch


def norms(tensors: list[Tensor]) -> Tensor:
    """Return the L norms of L tensors; of 16-bit tensors in float32, where their squares do not overflow."""
    wide = torch.promote_types(tensors[0].dtype, torch.float32)
    return torch.stack(torch._foreach_norm(tensors, 2, wide))


def ratio(above_L: Tensor, below_L: Tensor) -> Tensor:
    """Return above / below, and 1 where either is 0."""
    return torch.where((above_L > 0) & (below_L > 0), above_L / below_L, torch.ones_like(above_L))


def dense_gradients(params: list[Tensor]) -> list[Tensor]:
    """Return the gradients of parameters that have one."""
    return [p.grad for p in params if p.grad is not None]


def states(of: dict[Tensor, Any], params: list[Tensor], name: str) -> list[Tensor]:
    """Return the tensor called `name` of each parameter's state, zeros in the parameter's own layout at first."""
    for p in params:
        if name not in of[p]:
            of[p][name] = torch.zeros_like(p, memory_format=torch.preserve_format)
    return [of[p][name] for p in params]
