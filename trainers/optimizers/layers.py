"""Common functions of LARS and LAMB: groups of layers, their norms, and the ratio of norms.

Every tensor is one layer. Legend of shapes: L layers of a group.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

CACHE_NUMBERS = 2**20  # weights per group on a CPU: the update finds in the cache the weights that the norms read


def group_layers(params: list[Tensor]) -> Iterator[list[Tensor]]:
    """Yield lists of parameters with gradients; the parameters of a list have one device and one dtype.

    On a CPU a list fits into the cache, so that a layer is read from memory once and not once per operation. On other
    devices a list has all parameters, because a kernel launch costs more than the memory access.
    """
    group: list[Tensor] = []
    numbers = 0
    for p in params:
        if p.grad is None:
            continue
        check_dense(p.grad)
        is_full = p.device.type == "cpu" and numbers + p.numel() > CACHE_NUMBERS
        if group and (is_full or (p.device, p.dtype) != (group[0].device, group[0].dtype)):
            yield group
            group, numbers = [], 0
        group.append(p)
        numbers += p.numel()
    if group:
        yield group


def check_dense(grad: Tensor) -> None:
    """Raise ValueError if a gradient is sparse."""
    if grad.layout != torch.strided:
        raise ValueError(
            f"a gradient of shape {tuple(grad.shape)} has the layout {grad.layout}; the engine needs dense gradients: "
            "set sparse to False where the net calls the embedding"
        )


def norms(tensors: list[Tensor]) -> Tensor:
    """Return the norms of L tensors; those of 16-bit tensors in float32, which avoids overflow."""
    wide = torch.promote_types(tensors[0].dtype, torch.float32)
    return torch.stack(torch._foreach_norm(tensors, 2, wide))


def ratio(numerator_L: Tensor, denominator_L: Tensor) -> Tensor:
    """Return numerator / denominator, and 1 where one of them is 0."""
    are_positive_L = (numerator_L > 0) & (denominator_L > 0)
    return torch.where(are_positive_L, numerator_L / denominator_L, torch.ones_like(numerator_L))


def dense_gradients(params: list[Tensor]) -> list[Tensor]:
    """Return the gradients of the parameters that have one."""
    return [p.grad for p in params if p.grad is not None]


def states(of: dict[Tensor, Any], params: list[Tensor], name: str) -> list[Tensor]:
    """Return the tensor `name` of each parameter's state, initially zeros in the parameter's memory layout."""
    for p in params:
        if name not in of[p]:
            of[p][name] = torch.zeros_like(p, memory_format=torch.preserve_format)
    return [of[p][name] for p in params]
