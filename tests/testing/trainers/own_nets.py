"""Nets of a user with layers that a training engine may treat wrongly."""

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm


class Frozen(nn.Module):
    """A net whose first normalization keeps its statistics, which its constructor sets."""

    def __init__(self, pixels: int, classes: int) -> None:
        super().__init__()
        self.norm, self.layer = nn.BatchNorm1d(pixels), nn.Linear(pixels, 16)
        self.free, self.head = nn.BatchNorm1d(16), nn.Linear(16, classes)
        nn.init.uniform_(self.norm.get_buffer("running_mean"))
        self.norm.eval()

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        hidden = self.free(self.layer(self.norm(x_BCHW.flatten(1))))
        logits_BK: Tensor = self.head(torch.relu(hidden))
        return logits_BK


def frozen(channels: int, classes: int) -> nn.Module:
    """Return a net for images of 8 x 8 pixels."""
    return Frozen(64 * channels, classes)


class Cached(nn.Module):
    """A net with a buffer that is no state, and has no value until the first pass."""

    cache: Tensor | None
    counted: Tensor

    def __init__(self, pixels: int, classes: int) -> None:
        super().__init__()
        self.norm, self.head = nn.BatchNorm1d(pixels), spectral_norm(nn.Linear(pixels, classes))
        self.register_buffer("cache", None, persistent=False)
        self.register_buffer("counted", torch.zeros((), dtype=torch.int64))

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK; the cache has the batch's size."""
        self.cache = x_BCHW.new_zeros(len(x_BCHW), 1)
        if self.training:
            self.counted += 2**50 + 1  # exact in integers alone
        logits_BK: Tensor = self.head(self.norm(x_BCHW.flatten(1)))
        return logits_BK + self.cache


def cached(channels: int, classes: int) -> nn.Module:
    """Return a net for images of 8 x 8 pixels."""
    return Cached(64 * channels, classes)


def spectral(channels: int, classes: int) -> nn.Module:
    """Return a net whose buffers follow its weights: the vectors of spectral normalization."""
    return nn.Sequential(nn.Flatten(), spectral_norm(nn.Linear(64 * channels, classes)))
