"""GoogLeNet (Szegedy et al., 2014, arXiv:1409.4842, table 1): 6,998,552 parameters for ImageNet.

With the two auxiliary classifiers of training it has 13,378,280 parameters, FireCaffe's 54 MB. They follow blocks 4a
and 4d, and their losses have weight 0.3 (section 5). Local response normalization is that of AlexNet. Weights are
initialized by Caffe's xavier, biases with 0.2, those of the logits with 0, as in FireCaffe's file.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, avg_pool2d

from trainers.models.alexnet import max_pool
from trainers.models.initialization import xavier


class GoogLeNet(nn.Module):
    """Map x_BCHW of at least 31 x 31 pixels to the logits of K classes, in training also to both auxiliary logits."""

    def __init__(self, channels: int, classes: int, *, aux_weight: float = 0.3) -> None:
        super().__init__()
        self.aux_weight = aux_weight if aux_weight else None  # weight 0 omits the auxiliary heads
        self.stem = nn.Sequential(
            xavier(nn.Conv2d(channels, 64, kernel_size=7, stride=2, padding=3), bias=0.2),
            nn.ReLU(inplace=True),
            max_pool(),
            nn.LocalResponseNorm(5),
            xavier(nn.Conv2d(64, 64, kernel_size=1), bias=0.2),
            nn.ReLU(inplace=True),
            xavier(nn.Conv2d(64, 192, kernel_size=3, padding=1), bias=0.2),
            nn.ReLU(inplace=True),
            nn.LocalResponseNorm(5),
            max_pool(),
        )
        # Each block: input channels; channels of 1 x 1, 3 x 3 (reduced, output), 5 x 5 (reduced, output), pooling.
        self.to_4a = nn.Sequential(
            Inception(192, 64, (96, 128), (16, 32), 32),
            Inception(256, 128, (128, 192), (32, 96), 64),
            max_pool(),
            Inception(480, 192, (96, 208), (16, 48), 64),
        )
        self.to_4d = nn.Sequential(
            Inception(512, 160, (112, 224), (24, 64), 64),
            Inception(512, 128, (128, 256), (24, 64), 64),
            Inception(512, 112, (144, 288), (32, 64), 64),
        )
        self.to_5b = nn.Sequential(
            Inception(528, 256, (160, 320), (32, 128), 128),
            max_pool(),
            Inception(832, 256, (160, 320), (32, 128), 128),
            Inception(832, 384, (192, 384), (48, 128), 128),
        )
        if self.aux_weight is not None:
            self.head_4a, self.head_4d = _Auxiliary(512, classes), _Auxiliary(528, classes)
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.4), xavier(nn.Linear(1024, classes))
        )

    def forward(self, x_BCHW: Tensor) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Return logits_BK; in training also those of the heads at 4a and 4d."""
        at_4a_BCHW: Tensor = self.to_4a(self.stem(x_BCHW))
        at_4d_BCHW: Tensor = self.to_4d(at_4a_BCHW)
        logits_BK: Tensor = self.classifier(self.to_5b(at_4d_BCHW))
        if self.training and self.aux_weight is not None:
            return logits_BK, self.head_4a(at_4a_BCHW), self.head_4d(at_4d_BCHW)
        return logits_BK


class _Auxiliary(nn.Module):
    """An auxiliary classifier: average pooling to 4 x 4, 128 channels, 1,024 units with dropout 0.7."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.narrow = xavier(nn.Conv2d(inputs, 128, kernel_size=1), bias=0.2)
        self.classifier = nn.Sequential(
            nn.ReLU(inplace=True),
            nn.Flatten(),
            xavier(nn.Linear(128 * 4 * 4, 1024), bias=0.2),
            nn.ReLU(inplace=True),
            nn.Dropout(0.7),
            xavier(nn.Linear(1024, classes)),
        )

    def forward(self, x_BCHW: Tensor) -> Tensor:
        logits_BK: Tensor = self.classifier(self.narrow(_to_4x4(x_BCHW)))
        return logits_BK


def _to_4x4(x_BCHW: Tensor) -> Tensor:
    """Apply the paper's 5 x 5 average pooling with stride 3 to 14 x 14 maps, else adaptive pooling to 4 x 4."""
    if x_BCHW.shape[2:] == (14, 14):
        return avg_pool2d(x_BCHW, kernel_size=5, stride=3)
    return adaptive_avg_pool2d(x_BCHW, 4)


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
