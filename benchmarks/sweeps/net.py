"""A small net whose training step takes a given time, so that several trials share two cores as they would share GPUs.

The time is slept: it changes no number of the training.
"""

import time

from torch import Tensor, nn


class SlowNet(nn.Module):
    """Two linear layers; every forward pass of the training sleeps first."""

    def __init__(self, channels: int, classes: int, seconds: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64 * channels, 32), nn.ReLU(), nn.Linear(32, classes))
        self.seconds = seconds

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return the logits of 8 x 8 images."""
        if self.training:
            time.sleep(self.seconds)
        logits: Tensor = self.layers(x_BCHW)
        return logits


def net(channels: int, classes: int, seconds: float) -> nn.Module:
    """Return the net for 8 x 8 images."""
    return SlowNet(channels, classes, seconds)
