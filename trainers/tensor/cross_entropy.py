"""Cross-entropy of logits whose vocabulary is cut over the ranks of one axis; no rank has all logits of a token.

    L = log sum_k e^(z_k - m) + m - z_y,   m = max_k z_k;   dL/dz_k = p_k - [k = y]

The ranks gather their maxima and sum e^(z - m) and z_y: 3 words per token and rank, where logits have V.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trainers.tensor.differentiable import apply
from trainers.tensor.group import Group
from trainers.tensor.layers.shared import block_of_rows
from trainers.tensor.mesh import Mesh


class ShardedCrossEntropy:
    """The mean over the tokens of this rank's samples; its gradient is that of the mean over the whole batch."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh, self._group = mesh, mesh.groups[mesh.vocabulary_axis]

    def __call__(self, output: Any, target: Tensor) -> Tensor:
        """Return the loss of this rank's block of logits for the tokens next_BT of the whole batch."""
        own_bT = own_targets(target, self._mesh)
        return apply(_Loss, output.flatten(0, 1), own_bT.flatten(), self._group, self._mesh.shape.row_blocks)


class ShardedLanguageModel:
    """Evaluates logits on a mesh: sums over this rank's block of the samples, which `repeats` ranks have."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh, self._group = mesh, mesh.groups[mesh.vocabulary_axis]

    def tally(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the sum of cross-entropies, the number of correct tokens, and the number of tokens."""
        z_Nv, next_N = output.flatten(0, 1), own_targets(target, self._mesh).flatten()
        loss_N, _, _ = token_losses(z_Nv, next_N, self._group)
        best_N, token_N = z_Nv.max(dim=1)
        token_N = token_N + self._group.index * z_Nv.shape[1]
        best_GN = self._group.all_gather(best_N[None])
        token_GN = self._group.all_gather(token_N[None])
        predicted_N = token_GN.gather(0, best_GN.argmax(dim=0, keepdim=True))[0]
        correct = (predicted_N == next_N).sum()
        return torch.stack([loss_N.double().sum(), correct.double(), torch.tensor(float(len(next_N))).double()])


def own_targets(target_BT: Tensor, mesh: Mesh) -> Tensor:
    """Return the targets of the samples of which this rank has logits."""
    return block_of_rows(target_BT, mesh.shape.row_blocks, mesh.output_block)


def token_losses(z_Nv: Tensor, next_N: Tensor, group: Group) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss of each token, the probabilities p_Nv of this rank's tokens, and its column of each target.

    The column is -1 where another rank has the target.
    """
    max_N = group.all_gather(z_Nv.max(dim=1).values[None]).max(dim=0).values
    exp_Nv = torch.exp(z_Nv - max_N[:, None])
    column_N = next_N - group.index * z_Nv.shape[1]
    is_own_N = (column_N >= 0) & (column_N < z_Nv.shape[1])
    column_N = column_N.where(is_own_N, -1)
    logit_N = z_Nv.gather(1, column_N.clamp(min=0)[:, None])[:, 0]
    sum_N, target_N = group.all_reduce(torch.stack([exp_Nv.sum(dim=1), torch.where(is_own_N, logit_N, 0)]))
    return sum_N.log() + max_N - target_N, exp_Nv / sum_N[:, None], column_N


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z_Nv: Tensor, next_N: Tensor, group: Group, row_blocks: int) -> Tensor:
        loss_N, p_Nv, column_N = token_losses(z_Nv, next_N, group)
        ctx.save_for_backward(p_Nv, column_N)
        ctx.row_blocks = row_blocks
        return loss_N.mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        p_Nv, column_N = ctx.saved_tensors
        d_Nv = p_Nv.clone()
        own_N = (column_N >= 0).nonzero()[:, 0]
        d_Nv[own_N, column_N[own_N]] -= 1
        return d_Nv * (grad / (len(d_Nv) * ctx.row_blocks)), None, None, None
