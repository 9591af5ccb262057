"""Linear layers on a square of q x q ranks by SUMMA (van de Geijn & Watts, 1997; Xu et al., Optimus, 2021): 2-D.

X_ij is the block of samples i and features j of the input, W_ij of inputs i and outputs j of the weights:

    Y_ij = sum_k X_ik W_kj           broadcast X_ik in row i and W_kj in column j, q times
    dX_il = sum_j dY_ij W_lj^T       broadcast W_lj in column j, reduce in row i
    dW_lj = sum_i X_il^T dY_ij       broadcast X_il in row i, reduce in column j

A product of M x K by K x N moves (q - 1) (M K + K N) words forward and twice as many backward, over all ranks. The head
has the blocks of the embedding, tokens i and features j, so its product is Y_il = sum_j X_ij E_lj^T.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from trainers.tensor.differentiable import all_gather, apply
from trainers.tensor.mesh import Mesh


class SquareLinear(nn.Module):
    """A layer with a block of the weights; its bias is cut over the ranks of a column."""

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter, mesh: Mesh, *, parts: int = 1) -> None:
        super().__init__()
        self.weight, self.bias, self._mesh, self._parts = weight, bias, mesh, parts

    def forward(self, x: Tensor) -> Tensor:
        """Return the block of outputs."""
        return apply(_Product, x, self.weight, self._mesh) + gather_rows(self.bias, self._mesh, "i", parts=self._parts)


class SquareHead(nn.Module):
    """The last layer, without a bias."""

    def __init__(self, weight: nn.Parameter, mesh: Mesh) -> None:
        super().__init__()
        self.weight, self._mesh = weight, mesh

    def forward(self, x: Tensor) -> Tensor:
        """Return the block of logits."""
        return apply(_TransposedProduct, x, self.weight, self._mesh)


def gather_rows(shard: Tensor, mesh: Mesh, group: str, *, parts: int = 1) -> Tensor:
    """Return the rows that the ranks of a group have together, in the order of the dense tensor's `parts`."""
    ranks = mesh.groups[group]
    whole = all_gather(shard, ranks)
    if parts == 1:
        return whole
    return whole.view(ranks.size, parts, -1, *whole.shape[1:]).transpose(0, 1).flatten(0, 2)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w_nk: Tensor, mesh: Mesh) -> Tensor:
        ctx.save_for_backward(x, w_nk)
        ctx.mesh = mesh
        row, column = mesh.groups["j"], mesh.groups["i"]
        y = x.new_zeros(*x.shape[:-1], len(w_nk))
        for k in range(row.size):
            y += row.broadcast(x, k) @ column.broadcast(w_nk, k).T
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        x, w_nk = ctx.saved_tensors
        row, column = ctx.mesh.groups["j"], ctx.mesh.groups["i"]
        dx, dw_nk = torch.empty_like(x), torch.empty_like(w_nk)
        for k in range(row.size):
            part = row.reduce(dy @ column.broadcast(w_nk, k), k)
            if row.index == k:
                dx = part
            part = column.reduce(dy.flatten(0, -2).T @ row.broadcast(x, k).flatten(0, -2), k)
            if column.index == k:
                dw_nk = part
        return dx, dw_nk, None


class _TransposedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, e_vd: Tensor, mesh: Mesh) -> Tensor:
        ctx.save_for_backward(x, e_vd)
        ctx.mesh = mesh
        row, column = mesh.groups["j"], mesh.groups["i"]
        y = x.new_empty(*x.shape[:-1], len(e_vd))
        for k in range(row.size):
            part = row.reduce(x @ column.broadcast(e_vd, k).T, k)
            if row.index == k:
                y = part
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        x, e_vd = ctx.saved_tensors
        row, column = ctx.mesh.groups["j"], ctx.mesh.groups["i"]
        dx, de_vd = torch.zeros_like(x), torch.empty_like(e_vd)
        for k in range(row.size):
            dy_k = row.broadcast(dy, k)
            dx += dy_k @ column.broadcast(e_vd, k)
            part = column.reduce(dy_k.flatten(0, -2).T @ x.flatten(0, -2), k)
            if column.index == k:
                de_vd = part
        return dx, de_vd, None
