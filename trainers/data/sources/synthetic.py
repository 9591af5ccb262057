"""Images from a seed: a smooth pattern per class with noise, of any size, fast enough for a GPU.

x_i = upsample(pattern[y_i]) + noise_i,  y_i = i mod K

The noise of image i is the sum of two windows of one tape of normal numbers, at the offsets given by the two halves of
a 32-bit hash of i. The second window is reversed: otherwise two hashes with exchanged halves would give the same image.
Different i have different windows, so all images differ. A batch costs a few strided copies, several times less than
new normal numbers.
"""

from math import prod

import torch
from torch import Tensor
from torch.nn.functional import interpolate

GRID = 4  # a pattern has GRID x GRID numbers per channel before interpolation
OFFSETS = 2**16
MULTIPLIER = 0x9E3779B1  # odd, so i -> i MULTIPLIER mod 2^32 is bijective (Knuth's multiplicative hash)
NOISE = 1.0  # deviation of the noise; the deviation of a pattern is also 1


class Synthetic:
    """Images `first` to `first + length - 1` of the sequence of a seed."""

    def __init__(
        self, pattern_KCGG: Tensor, tape_T: Tensor, *, shape: tuple[int, int, int], first: int, length: int
    ) -> None:
        self.pattern_KCGG, self.tape_T, self.shape = pattern_KCGG, tape_T, shape
        self.first, self.length = first, length

    def __len__(self) -> int:
        return self.length

    def target_numbers(self) -> Tensor:
        """Return the first number and the count of classes, of which the targets follow."""
        return torch.tensor([self.first, len(self.pattern_KCGG)])

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return x_BCHW and y_B."""
        i_B = index_B + self.first
        y_B = i_B % len(self.pattern_KCGG)
        pattern_BCHW = interpolate(self.pattern_KCGG[y_B], self.shape[1:], mode="bilinear", align_corners=True)
        return pattern_BCHW + self._noise(i_B), y_B

    def _noise(self, i_B: Tensor) -> Tensor:
        hash_B = i_B * MULTIPLIER % 2**32
        window_TP = self.tape_T.unfold(0, prod(self.shape), 1)
        noise_BP = window_TP[hash_B // OFFSETS] + window_TP[hash_B % OFFSETS].flip(1)
        return noise_BP.view(-1, *self.shape)


def synthetic(
    shape: tuple[int, int, int], classes: int, *, train_samples: int, heldout_samples: int, seed: int
) -> tuple[Synthetic, Synthetic]:
    """Return a training and a held-out split of images of `shape` (channels, height, width), which share no image."""
    if train_samples + heldout_samples > 2**32:
        raise ValueError(f"{train_samples} + {heldout_samples} images are more than the {2**32} different images")
    generator = torch.Generator().manual_seed(seed)
    pattern_KCGG = torch.randn(classes, shape[0], GRID, GRID, generator=generator)
    # Each of the two added windows has half of the noise's variance.
    tape_T = torch.randn(OFFSETS - 1 + prod(shape), generator=generator) * NOISE / 2**0.5
    train = Synthetic(pattern_KCGG, tape_T, shape=shape, first=0, length=train_samples)
    return train, Synthetic(pattern_KCGG, tape_T, shape=shape, first=train_samples, length=heldout_samples)
