"""GoogLeNet (Szegedy et al., 2014, arXiv:1409.4842, table 1): 6,998,552 parameters for ImageNet.

With its two auxiliary classifiers, which only training has, 13,378,280: the 54 MB of FireCaffe's messages. They hang
behind blocks 4a and 4d, and the loss takes 0.3 of theirs (section 5). Local response normalization is AlexNet's.
Weights begin as Caffe's xavier, biases at 0.2, those of the logits at 0, as in the file that FireCaffe trains.
"""

from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, avg_pool2d

from trainers.models.alexnet import shrink
from trainers.models.inception import Inception
from trainers.models.initialization import xavier


class GoogLeNet(nn.Module):
    """Maps x_BCHW, from 31 x 31 up, to the logits of K classes; in training to these and both auxiliary heads'."""

    def __init__(self, channels: int, classes: int, *, aux_weight: float = 0.3) -> None:
        super().__init__()
        self.aux_weight = aux_weight if aux_weight else None  # without weight there are no auxiliary heads
        self.stem = nn.Sequential(
            xavier(nn.Conv2d(channels, 64, kernel_size=7, stride=2, padding=3), bias=0.2),
            nn.ReLU(inplace=True),
            shrink(),
            nn.LocalResponseNorm(5),
            xavier(nn.Conv2d(64, 64, kernel_size=1), bias=0.2),
            nn.ReLU(inplace=True),
            xavier(nn.Conv2d(64, 192, kernel_size=3, padding=1), bias=0.2),
            nn.ReLU(inplace=True),
            nn.LocalResponseNorm(5),
            shrink(),
        )
        # of each block: inputs; channels of the 1 x 1, the 3 x 3 (narrowed first), the 5 x 5 likewise, the maximum
        self.to_4a = nn.Sequential(
            Inception(192, 64, (96, 128), (16, 32), 32),
            Inception(256, 128, (128, 192), (32, 96), 64),
            shrink(),
            Inception(480, 192, (96, 208), (16, 48), 64),
        )
        self.to_4d = nn.Sequential(
            Inception(512, 160, (112, 224), (24, 64), 64),
            Inception(512, 128, (128, 256), (24, 64), 64),
            Inception(512, 112, (144, 288), (32, 64), 64),
        )
        self.to_5b = nn.Sequential(
            Inception(528, 256, (160, 320), (32, 128), 128),
            shrink(),
            Inception(832, 256, (160, 320), (32, 128), 128),
            Inception(832, 384, (192, 384), (48, 128), 128),
        )
        if self.aux_weight is not None:
            self.head_4a, self.head_4d = _Auxiliary(512, classes), _Auxiliary(528, classes)
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.4), xavier(nn.Linear(1024, classes))
        )

    def forward(self, x_BCHW: Tensor) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        at_4a_BCHW: Tensor = self.to_4a(self.stem(x_BCHW))
        at_4d_BCHW: Tensor = self.to_4d(at_4a_BCHW)
        logits_BK: Tensor = self.classifier(self.to_5b(at_4d_BCHW))
        if self.training and self.aux_weight is not None:
            return logits_BK, self.head_4a(at_4a_BCHW), self.head_4d(at_4d_BCHW)
        return logits_BK


class _Auxiliary(nn.Module):
    """A classifier half-way up: averages to 4 x 4, 128 channels, 1,024 units, 70 % of them dropped."""

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
    """The paper's 5 x 5 averages in steps of 3 where they leave 4 x 4 (of 14 x 14), else 4 x 4 equal shares."""
    if x_BCHW.shape[2:] == (14, 14):
        return avg_pool2d(x_BCHW, kernel_size=5, stride=3)
    return adaptive_avg_pool2d(x_BCHW, 4)
