"""The net of the EASGD benchmark: many parameters for what it computes, so that its exchange weighs as in the paper."""

from torch import nn


def perceptron(channels: int, classes: int, units: int = 512) -> nn.Module:
    """Two hidden layers for the digits' 8 x 8 pixels: 301,066 parameters with 512 units and 10 classes."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(channels * 64, units),
        nn.ReLU(inplace=True),
        nn.Linear(units, units),
        nn.ReLU(inplace=True),
        nn.Linear(units, classes),
    )


def convolutions(channels: int, classes: int, width: int = 64) -> nn.Module:
    """Three convolutions before two layers: 322,890 parameters that compute about ten times as much for each."""
    return nn.Sequential(
        nn.Conv2d(channels, width // 2, kernel_size=3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(width // 2, width, kernel_size=3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(width, width, kernel_size=3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(kernel_size=2),
        nn.Flatten(),
        nn.Linear(width * 16, 256),
        nn.ReLU(inplace=True),
        nn.Linear(256, classes),
    )
