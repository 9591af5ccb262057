"""Images from a seed: a smooth pattern per class under noise, of any size, cheap enough to keep a GPU fed.

x_i = upsample(pattern[y_i]) + noise_i,  y_i = i mod K

The noise of image i is the sum of two windows into one short tape of normal numbers, at the two halves of a 32-bit
scramble of i, the second window read backwards: otherwise two scrambles with their halves exchanged would give one
image. Different i have different windows, so no two images are alike, and a batch costs a few strided copies where
drawing fresh normal numbers would cost several times as much.
"""

from math import prod

import torch
from torch import Tensor
from torch.nn.functional import interpolate

GRID = 4  # a pattern is GRID x GRID numbers per channel before it is stretched over the image
OFFSETS = 2**16
SCRAMBLE = 0x9E3779B1  # odd, so i -> i SCRAMBLE mod 2^32 is one to one (Knuth's multiplicative hash)
NOISE = 1.0  # deviation of the noise; that of a pattern is 1 as well


class Synthetic:
    """Images `first` to `first + length - 1` of the endless row that a seed makes."""

    def __init__(
        self, pattern_KCGG: Tensor, tape_T: Tensor, *, shape: tuple[int, int, int], first: int, length: int
    ) -> None:
        self.pattern_KCGG, self.tape_T, self.shape = pattern_KCGG, tape_T, shape
        self.first, self.length = first, length

    def __len__(self) -> int:
        return self.length

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        i_B = index_B + self.first
        y_B = i_B % len(self.pattern_KCGG)
        pattern_BCHW = interpolate(self.pattern_KCGG[y_B], self.shape[1:], mode="bilinear", align_corners=True)
        return pattern_BCHW + self._noise(i_B), y_B

    def _noise(self, i_B: Tensor) -> Tensor:
        scrambled_B = i_B * SCRAMBLE % 2**32
        window_TP = self.tape_T.unfold(0, prod(self.shape), 1)
        noise_BP = window_TP[scrambled_B // OFFSETS] + window_TP[scrambled_B % OFFSETS].flip(1)
        return noise_BP.view(-1, *self.shape)


def synthetic(
    shape: tuple[int, int, int], classes: int, *, train_samples: int, heldout_samples: int, seed: int
) -> tuple[Synthetic, Synthetic]:
    """Return a training and a held-out split of images of `shape` (channels, height, width) without a common image."""
    if train_samples + heldout_samples > 2**32:
        raise ValueError(f"{train_samples} + {heldout_samples} images are more than the {2**32} that differ")
    generator = torch.Generator().manual_seed(seed)
    pattern_KCGG = torch.randn(classes, shape[0], GRID, GRID, generator=generator)
    # two windows are added, so each has half of the noise's variance
    tape_T = torch.randn(OFFSETS - 1 + prod(shape), generator=generator) * NOISE / 2**0.5
    train = Synthetic(pattern_KCGG, tape_T, shape=shape, first=0, length=train_samples)
    return train, Synthetic(pattern_KCGG, tape_T, shape=shape, first=train_samples, length=heldout_samples)
