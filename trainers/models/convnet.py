"""A small convolutional net with batch normalization, for images of at least 8 x 8 pixels.

Three 3 x 3 convolutions of w, 2w and 4w channels, the second and third with stride 2, then average pooling to 2 x 2
and one linear layer.
"""

from torch import Tensor, nn


class ConvNet(nn.Module):
    """Map x_BCHW to the logits of K classes."""

    def __init__(self, channels: int, classes: int, *, width: int = 16) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *_block(channels, width, stride=1),
            *_block(width, 2 * width, stride=2),
            *_block(2 * width, 4 * width, stride=2),
            # 2 x 2 instead of 1 x 1, because the position of a stroke distinguishes digits
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.classifier = nn.Linear(4 * 4 * width, classes)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        logits_BK: Tensor = self.classifier(self.features(x_BCHW))
        return logits_BK


def _block(inputs: int, outputs: int, *, stride: int) -> list[nn.Module]:
    # The batch normalization has a bias, so the convolution has none.
    convolution = nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
