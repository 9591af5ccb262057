"""ResNet-18, 34, 50 and 101 (He, Zhang, Ren & Sun, 2015, arXiv:1512.03385, table 1).

For ImageNet they have 11,689,512, 21,797,672, 25,557,032 and 44,549,160 parameters. As in Goyal et al. (2017) and
differing from the paper, the stride of a bottleneck is in its 3 x 3 convolution, not in the 1 x 1.

Convolutions are initialized by He's (2015) normal distribution with fan-out, the last layer from N(0, 0.01^2) with
biases 0. With `zero_gamma` the scale of the last normalization in every block is initialized with 0 (Goyal et al.,
section 5.1): a block is the identity at first, which stabilizes the first steps of a large batch.
"""

from torch import Tensor, nn

from trainers.models.initialization import gaussian

STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}  # depth -> blocks of each stage
WIDTHS = (64, 128, 256, 512)
EXPANSION = 4  # a bottleneck of width w has 4w output channels


class ResNet(nn.Module):
    """Map x_BCHW of any height and width to the logits of K classes."""

    def __init__(self, channels: int, classes: int, *, depth: int = 50, zero_gamma: bool = False) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            convolution(channels, 64, size=7, stride=2),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        layers, expansion = (_plain, 1) if depth < 50 else (_bottleneck, EXPANSION)
        blocks: list[nn.Module] = []
        inputs = 64
        for stage, (width, count) in enumerate(zip(WIDTHS, STAGES[depth], strict=True)):
            for number in range(count):
                stride = 2 if stage and number == 0 else 1
                outputs = expansion * width
                residual = layers(inputs, width, stride)
                blocks.append(_Block(residual, inputs, outputs, stride=stride, zero_gamma=zero_gamma))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = gaussian(nn.Linear(inputs, classes), 0.01)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        x_BC11 = self.pool(self.blocks(self.stem(x_BCHW)))
        logits_BK: Tensor = self.classifier(x_BC11.flatten(1))
        return logits_BK


class _Block(nn.Module):
    """Compute relu(F(x) + shortcut(x)); the shortcut is a 1 x 1 convolution if F changes the shape."""

    def __init__(self, layers: list[nn.Module], inputs: int, outputs: int, *, stride: int, zero_gamma: bool) -> None:
        super().__init__()
        last_norm = nn.BatchNorm2d(outputs)
        if zero_gamma:
            nn.init.zeros_(last_norm.weight)
        self.residual = nn.Sequential(*layers, last_norm)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            projection = convolution(inputs, outputs, size=1, stride=stride)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        y_BCHW: Tensor = self.relu(self.residual(x_BCHW) + self.shortcut(x_BCHW))
        return y_BCHW


def _plain(inputs: int, width: int, stride: int) -> list[nn.Module]:
    """Return two 3 x 3 convolutions."""
    return [
        convolution(inputs, width, size=3, stride=stride),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        convolution(width, width, size=3),
    ]


def _bottleneck(inputs: int, width: int, stride: int) -> list[nn.Module]:
    """Return 1 x 1 to `width` channels, 3 x 3, and 1 x 1 to 4 `width` channels."""
    return [
        convolution(inputs, width, size=1),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        convolution(width, width, size=3, stride=stride),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        convolution(width, EXPANSION * width, size=1),
    ]


def convolution(inputs: int, outputs: int, *, size: int, stride: int = 1) -> nn.Conv2d:
    """Return a convolution without bias, with He's initialization by fan-out."""
    layer = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer
