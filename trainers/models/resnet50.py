"""ResNet-50 (He, Zhang, Ren & Sun, 2015, arXiv:1512.03385, table 1): 25,557,032 parameters for ImageNet.

One departure, as everywhere since Goyal et al. (2017): the 3 x 3 convolution of a bottleneck strides, not the 1 x 1.
"""

from torch import Tensor, nn

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first block
EXPANSION = 4  # a bottleneck of width w hands on 4w channels


class ResNet50(nn.Module):
    """Maps x_BCHW, of any height and width from 8 up, to the logits of K classes."""

    def __init__(self, channels: int = 3, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            _convolution(channels, 64, size=7, stride=2),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        blocks: list[nn.Module] = []
        inputs = 64
        for width, count, stride in STAGES:
            for number in range(count):
                blocks.append(_Bottleneck(inputs, width, stride=stride if number == 0 else 1))
                inputs = EXPANSION * width
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(inputs, classes)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        x_BC11 = self.pool(self.blocks(self.stem(x_BCHW)))
        logits_BK: Tensor = self.classifier(x_BC11.flatten(1))
        return logits_BK


class _Bottleneck(nn.Module):
    """relu(F(x) + shortcut(x)): 1 x 1 down to `width`, 3 x 3, 1 x 1 up to 4 `width`."""

    def __init__(self, inputs: int, width: int, *, stride: int) -> None:
        super().__init__()
        outputs = EXPANSION * width
        self.residual = nn.Sequential(
            _convolution(inputs, width, size=1),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            _convolution(width, width, size=3, stride=stride),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            _convolution(width, outputs, size=1),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            projection = _convolution(inputs, outputs, size=1, stride=stride)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        y_BCHW: Tensor = self.relu(self.residual(x_BCHW) + self.shortcut(x_BCHW))
        return y_BCHW


def _convolution(inputs: int, outputs: int, *, size: int, stride: int = 1) -> nn.Conv2d:
    """A convolution without bias, with He's initialization by fan-out."""
    convolution = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return convolution
