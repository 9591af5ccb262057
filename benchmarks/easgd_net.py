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
