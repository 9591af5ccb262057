"""Classification: one of K classes for every sample, judged by cross-entropy and by whose logit is the largest."""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses.loss import wide


class Classification:
    """Held-out loss and accuracy count images."""

    def tally(self, output_BK: Tensor, y_B: Tensor) -> Tensor:
        """Return the sum of cross-entropies, how many images are right, of how many."""
        loss = cross_entropy(wide(output_BK), y_B, reduction="sum")
        right = (output_BK.argmax(dim=1) == y_B).sum()
        # float64 counts exactly up to 2^53 samples
        return torch.stack([loss.double(), right.double(), torch.tensor(len(y_B), device=loss.device)])
