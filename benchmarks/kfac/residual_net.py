"""A residual net for 28 x 28 pixels: a stem and six blocks of two 3 x 3 convolutions, 8 to 32 channels.

It is the shape of the CIFAR nets of He et al. (2015, section 4.2) with half of their channels.
"""

import torch
from torch import Tensor, nn

from trainers.models.resnet import convolution

WIDTHS = (8, 16, 32)
BLOCKS = 2  # of each width


def residual_net(*, channels: int, classes: int) -> nn.Module:
    """Return the net; torch's generator initializes its weights."""
    layers: list[nn.Module] = [convolution(channels, WIDTHS[0], size=3), nn.BatchNorm2d(WIDTHS[0]), nn.ReLU()]
    inputs = WIDTHS[0]
    for width in WIDTHS:
        for number in range(BLOCKS):
            layers.append(Block(inputs, width, stride=2 if number == 0 and width > WIDTHS[0] else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


class Block(nn.Module):
    """Compute relu(F(x) + shortcut(x))."""

    def __init__(self, inputs: int, outputs: int, *, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            convolution(inputs, outputs, size=3, stride=stride),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            convolution(outputs, outputs, size=3),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if inputs != outputs:
            self.shortcut = nn.Sequential(convolution(inputs, outputs, size=1, stride=stride), nn.BatchNorm2d(outputs))

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return the map of the block."""
        return torch.relu(self.residual(x_BCHW) + self.shortcut(x_BCHW))
