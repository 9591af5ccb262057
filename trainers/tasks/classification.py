"""Classification: one of K classes per sample, evaluated by cross-entropy and by the class of the largest logit."""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses.loss import to_float32


class Classification:
    """Held-out loss and accuracy are means over images."""

    def tally(self, output_BK: Tensor, y_B: Tensor) -> Tensor:
        """Return the sum of cross-entropies, the number of correct images, and the number of images."""
        loss = cross_entropy(to_float32(output_BK), y_B, reduction="sum")
        correct = (output_BK.argmax(dim=1) == y_B).sum()
        # float64 counts exactly up to 2^53 samples
        return torch.stack([loss.double(), correct.double(), torch.tensor(len(y_B), device=loss.device)])
