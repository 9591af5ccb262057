"""Layers that a square and a cube share: layer norm and embedding, whose parameters are gathered where they are used.

The features of a position are on the ranks of one axis. A norm sums over them twice, for the mean and for the mean
square of the differences, so that no digits cancel:

    m = 1/D sum x,   v = 1/D sum (x - m)^2,   n = (x - m) / sqrt(v + eps),   y = g n + b
    dx = (g dy - 1/D sum g dy - n 1/D sum g dy n) / sqrt(v + eps),   dg = sum dy n,   db = sum dy

with the sums of dx over features and those of dg and db over tokens. As the dense norm, it saves x, m and v alone.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding

from trainers.tensor.differentiable import all_gather, apply
from trainers.tensor.group import Group
from trainers.tensor.mesh import Mesh


class ShardedNorm(nn.LayerNorm):
    """A layer norm over features on an axis; its parameters are cut over the ranks that share the features."""

    def __init__(
        self, weight: nn.Parameter, bias: nn.Parameter, mesh: Mesh, *, features: str, holders: str, epsilon: float
    ) -> None:
        super().__init__(len(weight), eps=epsilon, device="meta")
        self.weight, self.bias = weight, bias
        self._features, self._holders = mesh.groups[features], mesh.groups[holders]

    def forward(self, x: Tensor) -> Tensor:
        """Return y of this rank's features."""
        return apply(_Norm, x, self.weight, self.bias, (self._features, self._holders), self.eps)


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, groups: tuple[Group, Group], epsilon: float
    ) -> Tensor:
        features, holders = groups
        count = x.shape[-1] * features.size
        mean = features.all_reduce(x.sum(dim=-1, keepdim=True)) / count
        centered = x - mean
        scale = torch.rsqrt(features.all_reduce(centered.square().sum(dim=-1, keepdim=True)) / count + epsilon)
        gain, shift = holders.all_gather(torch.stack([weight, bias], dim=1)).unbind(1)
        ctx.save_for_backward(x, mean, scale, gain)
        ctx.groups = groups
        return gain * (centered * scale) + shift

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        x, mean, scale, gain = ctx.saved_tensors
        features, holders = ctx.groups
        normal, dn = (x - mean) * scale, gain * dy
        sums = torch.stack([dn.sum(dim=-1, keepdim=True), (dn * normal).sum(dim=-1, keepdim=True)])
        of_dn, of_both = features.all_reduce(sums) / (x.shape[-1] * features.size)
        dx = scale * (dn - of_dn - normal * of_both)
        columns = torch.stack([(dy * normal).flatten(0, -2).sum(dim=0), dy.flatten(0, -2).sum(dim=0)], dim=1)
        dweight, dbias = holders.reduce_scatter(columns).unbind(1)
        return dx, dweight, dbias, None, None


class ShardedTable(nn.Module):
    """The parameters of a table."""

    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__()
        self.weight = weight


class ShardedEmbedding(nn.Module):
    """Vectors of tokens and positions: this rank's features, for its block of the samples."""

    def __init__(self, tokens: nn.Parameter, positions: nn.Parameter, mesh: Mesh, *, holders: str) -> None:
        super().__init__()
        self.tokens, self.positions = ShardedTable(tokens), ShardedTable(positions)
        self._mesh, self._holders = mesh, mesh.groups[holders]

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Return h_btd of the block of the samples that enters on this rank."""
        own_bT = block_of_rows(tokens_BT, self._mesh.shape.row_blocks, self._mesh.input_block)
        table_Vd = all_gather(self.tokens.weight, self._holders)
        position_dT = all_gather(self.positions.weight.T, self._holders)
        return embedding(own_bT, table_Vd) + position_dT.T[: tokens_BT.shape[1]]


def block_of_rows(x: Tensor, blocks: int, index: int) -> Tensor:
    """Return a block of the rows; raise ValueError if the rows do not divide."""
    rows, rest = divmod(len(x), blocks)
    if rest:
        raise ValueError(f"{len(x)} samples do not divide into {blocks} blocks")
    return x[index * rows : (index + 1) * rows]
