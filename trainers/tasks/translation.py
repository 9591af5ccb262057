"""Translation: one of V tokens at every position of every sentence, evaluated per token without padding.

The held-out loss is the mean cross-entropy of a token; its exponential is the perplexity. The accuracy is the fraction
of tokens that have the largest logit, given the true tokens before them. The training loss is per sentence instead
(trainers/losses/translation.py gives the reason).
"""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses.loss import to_float32


class Translation:
    """Held-out loss and accuracy are means over the tokens that differ from `padding`."""

    def __init__(self, *, padding: int) -> None:
        self.padding = padding

    def tally(self, output_BTV: Tensor, y_BT: Tensor) -> Tensor:
        """Return the sum of cross-entropies, the number of correct tokens, and the number of tokens."""
        is_token_BT = y_BT != self.padding
        logits_NV, y_N = to_float32(output_BTV)[is_token_BT], y_BT[is_token_BT]
        loss = cross_entropy(logits_NV, y_N, reduction="sum")
        correct = (logits_NV.argmax(dim=1) == y_N).sum()
        return torch.stack([loss.double(), correct.double(), is_token_BT.sum()])
