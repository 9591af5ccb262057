"""Translation: a token of V at every place of every sentence, judged by the tokens; padding is not counted.

Held-out loss is the mean cross-entropy of a token, whose exponential is the perplexity; accuracy is the fraction of
tokens whose logit is the largest where the net is shown the true tokens before them. A training loss is per sentence
instead (trainers/losses/translation.py says why).
"""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses.loss import wide


class Translation:
    """Held-out loss and accuracy count tokens; those equal to `padding` are none."""

    def __init__(self, *, padding: int) -> None:
        self.padding = padding

    def tally(self, output_BTV: Tensor, y_BT: Tensor) -> Tensor:
        """Return the sum of cross-entropies, how many tokens are right, of how many."""
        is_token_BT = y_BT != self.padding
        logits_NV, y_N = wide(output_BTV)[is_token_BT], y_BT[is_token_BT]
        loss = cross_entropy(logits_NV, y_N, reduction="sum")
        right = (logits_NV.argmax(dim=1) == y_N).sum()
        return torch.stack([loss.double(), right.double(), is_token_BT.sum()])
