"""Language model: the next of V tokens at every position, evaluated per token.

With a mean cross-entropy of L nats per token the perplexity is e^L, and a text of bytes takes L / ln 2 bits per byte.
"""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses.loss import to_float32


class LanguageModel:
    """Held-out loss and accuracy are means over tokens."""

    def tally(self, output_BTV: Tensor, next_BT: Tensor) -> Tensor:
        """Return the sum of cross-entropies, the number of correct tokens, and the number of tokens."""
        logits_NV, next_N = to_float32(output_BTV).flatten(0, 1), next_BT.flatten()
        loss = cross_entropy(logits_NV, next_N, reduction="sum")
        correct = (logits_NV.argmax(dim=1) == next_N).sum()
        return torch.stack([loss.double(), correct.double(), torch.tensor(len(next_N), device=loss.device)])
