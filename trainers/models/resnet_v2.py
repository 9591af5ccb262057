"""ResNet-50-v2 (He, Zhang, Ren & Sun, 2016, arXiv:1603.05027): 25,549,352 parameters for ImageNet.

A block applies normalization and ReLU before each convolution, and nothing after the sum:

    a = relu(BN(x));   x' = F(a) + x,   or F(a) + W a where the shape changes

so a gradient reaches every block unchanged. One activation follows the last block. The initialization is that of
resnet.py.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from trainers.models.initialization import gaussian
from trainers.models.resnet import EXPANSION, STAGES, WIDTHS, convolution


class ResNet50V2(nn.Module):
    """Map x_BCHW of any height and width to the logits of K classes.

    The published net has the default channels of the stem, widths of the stages and counts of blocks.
    """

    def __init__(
        self,
        channels: int,
        classes: int,
        *,
        stem: int = 64,
        widths: Sequence[int] = WIDTHS,
        counts: Sequence[int] = STAGES[50],
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            convolution(channels, stem, size=7, stride=2), nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        )
        blocks: list[nn.Module] = []
        inputs = stem
        for stage, (width, count) in enumerate(zip(widths, counts, strict=True)):
            for number in range(count):
                blocks.append(_Block(inputs, width, stride=2 if stage and number == 0 else 1))
                inputs = EXPANSION * width
        self.blocks = nn.Sequential(*blocks)
        self.activation = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU(inplace=True))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = gaussian(nn.Linear(inputs, classes), 0.01)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        x_BC11 = self.pool(self.activation(self.blocks(self.stem(x_BCHW))))
        logits_BK: Tensor = self.classifier(x_BC11.flatten(1))
        return logits_BK


class _Block(nn.Module):
    """A bottleneck with a normalization before each convolution."""

    def __init__(self, inputs: int, width: int, *, stride: int) -> None:
        super().__init__()
        outputs = EXPANSION * width
        self.activation = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU(inplace=True))
        self.residual = nn.Sequential(
            convolution(inputs, width, size=1),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            convolution(width, width, size=3, stride=stride),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            convolution(width, outputs, size=1),
        )
        changes = stride != 1 or inputs != outputs
        self.projection = convolution(inputs, outputs, size=1, stride=stride) if changes else None

    def forward(self, x_BCHW: Tensor) -> Tensor:
        a_BCHW: Tensor = self.activation(x_BCHW)
        shortcut_BCHW: Tensor = x_BCHW if self.projection is None else self.projection(a_BCHW)
        residual_BCHW: Tensor = self.residual(a_BCHW)
        return residual_BCHW + shortcut_BCHW
