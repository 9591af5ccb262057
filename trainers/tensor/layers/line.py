"""Linear layers and embeddings on a line of n ranks (Shoeybi et al., Megatron-LM, 2019): 1-D.

    first layer    Y_i = X W_i^T       the ranks share X, each has N / n outputs
    second layer   Y = sum_i X_i W_i^T   each has K / n inputs, and all have the sum

Each pair of layers takes one all-reduce of Y forward and one of dX backward, each 2 (n - 1) / n of its words per rank.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear

from trainers.tensor.differentiable import copy_to, reduce_from
from trainers.tensor.group import Group


class FirstLinear(nn.Module):
    """A layer whose outputs are cut."""

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter | None, group: Group) -> None:
        super().__init__()
        self.weight, self.bias, self._group = weight, bias, group

    def forward(self, x: Tensor) -> Tensor:
        """Return this rank's outputs."""
        return linear(copy_to(x, self._group), self.weight, self.bias)


class SecondLinear(nn.Module):
    """A layer whose inputs are cut; every rank has the whole bias."""

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter, group: Group) -> None:
        super().__init__()
        self.weight, self.bias, self._group = weight, bias, group

    def forward(self, x: Tensor) -> Tensor:
        """Return all outputs."""
        return reduce_from(linear(x, self.weight), self._group) + self.bias


class TokenTable(nn.Module):
    """An embedding of which every rank has V / n tokens: a rank adds zeros for the tokens of others."""

    def __init__(self, weight: nn.Parameter, group: Group) -> None:
        super().__init__()
        self.weight, self._group = weight, group

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Return h_BTD."""
        own_BT = tokens_BT - self._group.index * len(self.weight)
        is_other_BT = (own_BT < 0) | (own_BT >= len(self.weight))
        h_BTD = embedding(own_BT.masked_fill(is_other_BT, 0), self.weight)
        return reduce_from(torch.where(is_other_BT[..., None], 0, h_BTD), self._group)
