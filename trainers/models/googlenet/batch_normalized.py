"""GoogLeNet-BN: batch-normalized Inception (Ioffe & Szegedy, 2015, arXiv:1502.03167, figure 5), without other heads.

Every convolution is followed by a normalization and has no bias, 5 x 5 convolutions are two of 3 x 3, and blocks 3c and
4e halve the map. Initialized as the ResNets are: convolutions by He's normal distribution with fan-out.
"""

import torch
from torch import Tensor, nn

from trainers.models.initialization import gaussian
from trainers.models.resnet import convolution

Branch = tuple[int, int]  # channels of a reducing 1 x 1 convolution, and of the branch

# block: channels of 1 x 1; of 3 x 3; of two 3 x 3; the kind of pooling and the channels after it
BLOCKS: dict[str, tuple[int, Branch, Branch, str, int]] = {
    "3a": (64, (64, 64), (64, 96), "mean", 32),
    "3b": (64, (64, 96), (64, 96), "mean", 64),
    "3c": (0, (128, 160), (64, 96), "max", 0),
    "4a": (224, (64, 96), (96, 128), "mean", 128),
    "4b": (192, (96, 128), (96, 128), "mean", 128),
    "4c": (160, (128, 160), (128, 160), "mean", 96),
    "4d": (96, (128, 192), (160, 192), "mean", 96),
    "4e": (0, (128, 192), (192, 256), "max", 0),
    "5a": (352, (192, 320), (160, 224), "mean", 128),
    "5b": (352, (192, 320), (192, 224), "max", 128),
}


class GoogLeNetBN(nn.Sequential):
    """Map x_BCHW of any height and width to the logits of K classes; 224 x 224 gives the published net."""

    def __init__(self, channels: int, classes: int) -> None:
        layers = [
            *_normalized(channels, 64, size=7, stride=2),
            _halve(),
            *_normalized(64, 64),
            *_normalized(64, 192, size=3),
            _halve(),
        ]
        inputs = 192
        for block in BLOCKS.values():
            layers.append(_Block(inputs, *block))
            inputs = outputs_of(inputs, block)
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), gaussian(nn.Linear(inputs, classes), 0.01))


def outputs_of(inputs: int, block: tuple[int, Branch, Branch, str, int]) -> int:
    """Return the channels of a block's result: a block without a 1 x 1 branch passes its input through its pooling."""
    one, three, double, _, pool = block
    return one + three[1] + double[1] + (pool or inputs)


class _Block(nn.Module):
    """Parallel branches whose channels are concatenated; without a 1 x 1 branch they have stride 2."""

    def __init__(self, inputs: int, one: int, three: Branch, double: Branch, kind: str, pool: int) -> None:
        super().__init__()
        stride = 1 if one else 2
        branches = [nn.Sequential(*_normalized(inputs, one))] if one else []
        reduced, outputs = three
        branches.append(
            nn.Sequential(*_normalized(inputs, reduced), *_normalized(reduced, outputs, size=3, stride=stride))
        )
        reduced, outputs = double
        branches.append(
            nn.Sequential(
                *_normalized(inputs, reduced),
                *_normalized(reduced, outputs, size=3),
                *_normalized(outputs, outputs, size=3, stride=stride),
            )
        )
        pooling = (nn.AvgPool2d if kind == "mean" else nn.MaxPool2d)(3, stride=stride, padding=1)
        branches.append(nn.Sequential(pooling, *(_normalized(inputs, pool) if pool else [])))
        self.branches = nn.ModuleList(branches)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        return torch.cat([branch(x_BCHW) for branch in self.branches], dim=1)


def _normalized(inputs: int, outputs: int, *, size: int = 1, stride: int = 1) -> list[nn.Module]:
    layer = convolution(inputs, outputs, size=size, stride=stride)
    return [layer, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]


def _halve() -> nn.MaxPool2d:
    return nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
