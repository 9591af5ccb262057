"""Small nets of the shape of those with which LARS was tested (You, Gitman & Ginsburg, 2017), for 28 x 28 pixels.

AlexNet-BN: the layers of trainers/models/alexnet_bn.py in their order, an eighth of the channels (12, 32, 48, 48, 32,
and twice 128 units instead of 4,096), a first convolution of 5 x 5 with stride 2 instead of 11 x 11 with stride 4, no
pooling after the last convolution, whose map is 3 x 3, and no dropout. He's (2015) initialization replaces that of the
published file, whose deviations suit its widths.

ResNet-50-v2: trainers/models/resnet_v2.py with a sixteenth of the channels in the stem and the blocks.
"""

from torch import nn

from trainers.models.alexnet import max_pool
from trainers.models.resnet_v2 import ResNet50V2

ALEXNET_WIDTHS = (12, 32, 48, 48, 32)
UNITS = 128
RESNET_WIDTHS = (4, 8, 16, 32)


def alexnet_bn(*, channels: int, classes: int) -> nn.Module:
    """Return AlexNet-BN with an eighth of its channels; 28 x 28 pixels become a last map of 3 x 3."""
    first, second, third, fourth, fifth = ALEXNET_WIDTHS
    return nn.Sequential(
        *_convolution(channels, first, size=5, stride=2),
        max_pool(),
        _norm(first),
        *_convolution(first, second, size=5, groups=2),
        max_pool(),
        _norm(second),
        *_convolution(second, third),
        _norm(third),
        *_convolution(third, fourth, groups=2),
        _norm(fourth),
        *_convolution(fourth, fifth, groups=2),
        nn.Flatten(),
        *_linear(3 * 3 * fifth, UNITS),
        *_linear(UNITS, UNITS),
        nn.Linear(UNITS, classes),
    )


def resnet50_v2(*, channels: int, classes: int) -> nn.Module:
    """Return ResNet-50-v2 with a sixteenth of its channels."""
    return ResNet50V2(channels, classes, stem=4, widths=RESNET_WIDTHS)


def _convolution(inputs: int, outputs: int, *, size: int = 3, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    layer = nn.Conv2d(inputs, outputs, kernel_size=size, stride=stride, padding=size // 2, groups=groups)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    assert layer.bias is not None
    nn.init.constant_(layer.bias, 0.01)
    return [layer, nn.ReLU(inplace=True)]


def _linear(inputs: int, outputs: int) -> list[nn.Module]:
    layer = nn.Linear(inputs, outputs)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.constant_(layer.bias, 0.1)
    return [layer, nn.ReLU(inplace=True)]


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-4, momentum=0.1, affine=False)
