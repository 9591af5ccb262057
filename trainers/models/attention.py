"""Normalized additive attention (Bahdanau, Cho & Bengio, 2014; normalized as by Salimans & Kingma, 2016).

score(q, k) = g v / ||v|| . tanh(W q + U k + b),   weights = softmax over the source,   context = sum of weights x keys

The backward pass needs B x T x S x units stored numbers.
"""

import torch
from torch import Tensor, nn


class Attention(nn.Module):
    """Compute a context vector from the source for every target position."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.query = nn.Linear(units, units, bias=False)
        self.key = nn.Linear(units, units, bias=False)
        self.direction = nn.Parameter(torch.empty(units))
        self.gain = nn.Parameter(torch.empty(1))
        self.bias = nn.Parameter(torch.empty(units))

    def forward(self, query_BTD: Tensor, key_BSD: Tensor, is_padding_BS: Tensor) -> Tensor:
        """Return context_BTD; source padding has weight 0."""
        sum_BTSD = self.query(query_BTD)[:, :, None] + self.key(key_BSD)[:, None] + self.bias
        v_D = self.gain * self.direction / torch.linalg.vector_norm(self.direction)
        score_BTS = torch.tanh(sum_BTSD) @ v_D
        score_BTS = score_BTS.masked_fill(is_padding_BS[:, None], float("-inf"))
        context_BTD: Tensor = score_BTS.softmax(dim=2) @ key_BSD
        return context_BTD
