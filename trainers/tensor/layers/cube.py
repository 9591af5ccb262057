"""Linear layers on a cube of q x q x q ranks (Bian, Xu, Wang & You, 2021, arXiv:2105.14450): 3-D.

X_ijl are the samples (i, j) and features l of the input, W_lji the inputs l and the outputs (j, i) of the weights:

    X_il = all-gather X_ijl over j,   W_lj = all-gather W_lji over i,   Y_ijl = reduce-scatter X_il W_lj over l

Y_ijl are the samples (i, l) and the outputs j, so the next layer swaps the axes j and l. Backward: all-gather dY over
l, reduce-scatter dX = dY W_lj^T over j and dW = dY^T X_il over i. With M x K by K x N each rank sends

    2 (q - 1) / q^3 (M K + K N + M N) words   if it saves X_il and W_lj, 1 / q^2 of X and W
      (q - 1) / q^3 (3 M K + 3 K N + 2 M N)   if it saves X_ijl and W_lji, 1 / q^3, and gathers them again

forward and backward, 6 or 8 (q - 1) / q^3 per word of a square product. The paper's table has the 6 words and the
memory 1 / q^3, which no way has together.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from trainers.tensor.differentiable import apply
from trainers.tensor.layers.square import gather_rows
from trainers.tensor.mesh import Mesh


class CubeLinear(nn.Module):
    """A layer with features on the axis `inputs` and outputs on the axis `outputs`, "l" and "j" or "j" and "l"."""

    def __init__(
        self,
        weight: nn.Parameter,
        bias: nn.Parameter | None,
        mesh: Mesh,
        *,
        inputs: str,
        outputs: str,
        parts: int = 1,
    ) -> None:
        super().__init__()
        self.weight, self.bias, self._mesh, self._parts = weight, bias, mesh, parts
        self._plane = f"{inputs}i"
        self._blocks = _Blocks(mesh, inputs=inputs, outputs=outputs, parts=parts)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs j of the samples (i, l), or the outputs l of the samples (i, j)."""
        y = apply(_Product, x, self.weight, self._blocks)
        return y if self.bias is None else y + gather_rows(self.bias, self._mesh, self._plane, parts=self._parts)


class _Blocks:
    """The collectives of one layer; the rows of a gathered weight are in the order of the dense tensor's `parts`."""

    def __init__(self, mesh: Mesh, *, inputs: str, outputs: str, parts: int) -> None:
        self.saves_gathered = mesh.shape.saves_gathered
        self.of_inputs, self.of_outputs, self._of_weight = (mesh.groups[axis] for axis in (inputs, outputs, "i"))
        self._parts = parts

    def gather_weight(self, w_nk: Tensor) -> Tensor:
        return _swap_order(self._of_weight.all_gather(w_nk), self._of_weight.size, self._parts)

    def scatter_weight(self, dw_Nk: Tensor) -> Tensor:
        return self._of_weight.reduce_scatter(_swap_order(dw_Nk, self._parts, self._of_weight.size))


def _swap_order(rows: Tensor, outer: int, inner: int) -> Tensor:
    """Return blocks of rows, of which `outer` times `inner` follow each other, in the order of the inner ones."""
    if 1 in (outer, inner):
        return rows
    return rows.view(outer, inner, -1, *rows.shape[1:]).transpose(0, 1).flatten(0, 2)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w_nk: Tensor, blocks: _Blocks) -> Tensor:
        gathered = blocks.of_outputs.all_gather(x), blocks.gather_weight(w_nk)
        ctx.save_for_backward(*(gathered if blocks.saves_gathered else (x, w_nk)))
        ctx.blocks = blocks
        return blocks.of_inputs.reduce_scatter(linear(*gathered))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        (x, w_nk), blocks = ctx.saved_tensors, ctx.blocks
        dy = blocks.of_inputs.all_gather(dy)
        if not blocks.saves_gathered:
            w_nk = blocks.gather_weight(w_nk)
        dx = blocks.of_outputs.reduce_scatter(dy @ w_nk)
        del w_nk  # one gathered block at a time
        if not blocks.saves_gathered:
            x = blocks.of_outputs.all_gather(x)
        return dx, blocks.scatter_weight(dy.flatten(0, -2).T @ x.flatten(0, -2)), None
