"""Segmentation: one of K classes for each voxel, evaluated per voxel."""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses.loss import to_float32


class Segmentation:
    """Held-out loss and accuracy are means over voxels."""

    def tally(self, output_BKZYX: Tensor, y_BZYX: Tensor) -> Tensor:
        """Return the sum of cross-entropies, the number of correct voxels, and the number of voxels."""
        loss = cross_entropy(to_float32(output_BKZYX), y_BZYX, reduction="sum")
        correct = (output_BKZYX.argmax(dim=1) == y_BZYX).sum()
        return torch.stack([loss.double(), correct.double(), torch.tensor(y_BZYX.numel(), device=loss.device)])
