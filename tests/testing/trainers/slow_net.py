"""A net whose steps take a fixed time and little of a processor, so that few last long enough to be disturbed."""

import time

from torch import Tensor, nn


class SlowNet(nn.Module):
    """A convolution and an average that sleep in every forward pass of the training."""

    def __init__(self, channels: int, classes: int, seconds: float) -> None:
        super().__init__()
        self.layer, self.seconds = nn.Conv2d(channels, classes, 3), seconds

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of a batch of images."""
        if self.training:
            time.sleep(self.seconds)
        logits: Tensor = self.layer(x).mean(dim=(2, 3))
        return logits


def net(channels: int, classes: int, seconds: float) -> nn.Module:
    """Return the net for a spec's `model: {kind: import, function: ..., options: {seconds: ...}}`."""
    return SlowNet(channels, classes, seconds)
