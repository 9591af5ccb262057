"""Collectives with a gradient: the backward pass of each is the collective that transposes it.

The loss of a batch is the sum of what the ranks compute, so the gradient of a sum over ranks is a sum over ranks. In a
1-D mesh all ranks compute the same loss: there `copy_to` and `reduce_from` are each other's transposes (Shoeybi et al.,
Megatron-LM, 2019, section 3).
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trainers.tensor.group import Group


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return group.all_gather(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.group.reduce_scatter(grad), None


class _ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return group.reduce_scatter(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.group.all_gather(grad), None


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return group.all_reduce(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.group.all_reduce(grad), None


class _CopyTo(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.group.all_reduce(grad), None


class _ReduceFrom(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        return group.all_reduce(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


def apply(function: type[torch.autograd.Function], x: Tensor, *others: Any) -> Tensor:
    """Return the output of a function with a backward pass of its own."""
    y: Tensor = function.apply(x, *others)  # type: ignore[no-untyped-call]  # torch does not annotate it
    return y


def all_gather(x: Tensor, group: Group) -> Tensor:
    """Return the blocks of all ranks; each rank's gradient is its block of the sum."""
    return apply(_AllGather, x, group)


def reduce_scatter(x: Tensor, group: Group) -> Tensor:
    """Return this rank's block of the sum."""
    return apply(_ReduceScatter, x, group)


def all_reduce(x: Tensor, group: Group) -> Tensor:
    """Return the sum, of which each rank uses its own copy."""
    return apply(_AllReduce, x, group)


def copy_to(x: Tensor, group: Group) -> Tensor:
    """Return x, which all ranks have, for a layer of which each rank computes a part."""
    return apply(_CopyTo, x, group)


def reduce_from(x: Tensor, group: Group) -> Tensor:
    """Return the sum of the parts, which all ranks then have."""
    return apply(_ReduceFrom, x, group)
