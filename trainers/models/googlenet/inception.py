"""GoogLeNet's block (Szegedy et al., 2014, figure 2b): four parallel branches whose channels are concatenated."""

import torch
from torch import Tensor, nn

from trainers.models.initialization import xavier


class Inception(nn.Module):
    """Branches: 1 x 1; 3 x 3 and 5 x 5 after a reducing 1 x 1 (its channels first); max pooling, then 1 x 1."""

    def __init__(self, inputs: int, one: int, three: tuple[int, int], five: tuple[int, int], pool: int) -> None:
        super().__init__()
        self.one = nn.Sequential(*_convolution(inputs, one))
        self.three = nn.Sequential(*_convolution(inputs, three[0]), *_convolution(*three, size=3))
        self.five = nn.Sequential(*_convolution(inputs, five[0]), *_convolution(*five, size=5))
        self.pool = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), *_convolution(inputs, pool))

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return the concatenated channels of the branches."""
        return torch.cat([self.one(x_BCHW), self.three(x_BCHW), self.five(x_BCHW), self.pool(x_BCHW)], dim=1)


def _convolution(inputs: int, outputs: int, *, size: int = 1) -> list[nn.Module]:
    return [xavier(nn.Conv2d(inputs, outputs, size, padding=size // 2), bias=0.2), nn.ReLU(inplace=True)]
