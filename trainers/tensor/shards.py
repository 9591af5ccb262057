"""Shards: which part of each dense parameter of a GPT a rank of a mesh has, to cut parameters and to join them.

A matrix of N outputs and K inputs is cut in rows (N) and columns (K), a vector in rows. In a cube the input of a layer
has its features on one axis, its output on the other: of l and j for the first layer of a branch, of j and l for the
second, so that the residual stream is on l again. Every shard has exactly 1 / size of the elements, except for those
that every rank of a 1-D mesh has whole: positions, norms, and the biases of layers that end a branch.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.tensor.mesh import Shape

Cut = tuple[tuple[int, int], ...]  # number of blocks, and the rank's block; each cuts the block of the one before
FIRST, SECOND = ("qkv", "fc1"), ("proj", "fc2")  # layers that begin a branch, and layers that end it
PARTS = {"qkv": 3}  # queries, keys and values are cut each by itself, so that a rank has all three of its heads


@dataclass(frozen=True)
class Part:
    """A part of a dense tensor: `parts` matrices one below the other, each cut in rows and in columns."""

    rows: Cut = ()
    columns: Cut = ()
    parts: int = 1

    def of(self, dense: Tensor) -> Tensor:
        """Return the part as a view of the dense tensor; raise ValueError if the tensor does not divide."""
        view = dense.view(self.parts, -1, *dense.shape[1:])
        for count, index in self.rows:
            view = _block(view, 1, count, index)
        for count, index in self.columns:
            view = _block(view, 2, count, index)
        return view


def _block(view: Tensor, dim: int, count: int, index: int) -> Tensor:
    length, rest = divmod(view.shape[dim], count)
    if rest:
        raise ValueError(f"{view.shape[dim]} does not divide into {count} blocks")
    return view.narrow(dim, index * length, length)


def part_of(name: str, shape: Shape, rank: int) -> Part:
    """Return the part of the parameter `name` of a GPT that a rank has."""
    layer, what = name.split(".")[-2:]
    at, q, parts = shape.coordinates(rank), shape.side, PARTS.get(layer, 1)
    is_weight = what == "weight" and not layer.startswith("norm")
    axes = {axis: (q, at[axis]) for axis in at}
    if shape.kind == "one_d":
        return _of_line(layer, is_weight, axes["i"], parts)
    if shape.kind == "two_d":
        return _of_square(layer, is_weight, axes["i"], axes["j"], parts)
    i, j, l_ = axes["i"], axes["j"], axes["l"]
    if layer == "positions":
        return Part(columns=(l_, j, i))
    if layer in ("tokens", "head", *FIRST):
        return Part((j, i), (l_,), parts) if is_weight else Part((j, l_, i), (), parts)
    if layer in SECOND and is_weight:
        return Part((l_, i), (j,))
    return Part((l_, j, i))


def _of_line(layer: str, is_weight: bool, i: tuple[int, int], parts: int) -> Part:
    if layer in ("tokens", "head", *FIRST):
        return Part((i,), (), parts)
    return Part(columns=(i,)) if layer in SECOND and is_weight else Part()


def _of_square(layer: str, is_weight: bool, i: tuple[int, int], j: tuple[int, int], parts: int) -> Part:
    if layer == "positions":
        return Part(columns=(j, i))
    if layer in ("tokens", "head"):
        return Part((i,), (j,))
    if is_weight:
        return Part((j,), (i,), parts)
    return Part((j, i), (), parts)


def cut(name: str, dense: Tensor, shape: Shape, rank: int) -> Tensor:
    """Return a copy of a rank's shard of a dense parameter."""
    return part_of(name, shape, rank).of(dense).flatten(0, 1).clone()


def join(name: str, shards: Mapping[int, Tensor] | list[Tensor], shape: Shape) -> Tensor:
    """Return the dense parameter from the shards of all ranks."""
    first = part_of(name, shape, 0)
    rows, columns = _count(first.rows), _count(first.columns)
    height, *width = shards[0].shape
    dense = torch.empty(
        [height * rows, *(length * columns for length in width)], dtype=shards[0].dtype, device=shards[0].device
    )
    for rank in range(shape.size):
        view = part_of(name, shape, rank).of(dense)
        view.copy_(shards[rank].view(view.shape))
    return dense


def _count(cuts: Cut) -> int:
    total = 1
    for count, _ in cuts:
        total *= count
    return total
