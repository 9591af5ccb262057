"""A small convolutional net with batch normalization, for images from 8 x 8 up.

Three 3 x 3 convolutions of w, 2w and 4w channels, the latter two halving the image, then 2 x 2 averages and one
linear layer.
"""

from torch import Tensor, nn


class ConvNet(nn.Module):
    """Maps x_BCHW to the logits of K classes."""

    def __init__(self, channels: int, classes: int, *, width: int = 16) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *_block(channels, width, stride=1),
            *_block(width, 2 * width, stride=2),
            *_block(2 * width, 4 * width, stride=2),
            # 2 x 2, not 1 x 1: where a stroke lies tells digits apart
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.classifier = nn.Linear(4 * 4 * width, classes)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        logits_BK: Tensor = self.classifier(self.features(x_BCHW))
        return logits_BK


def _block(inputs: int, outputs: int, *, stride: int) -> list[nn.Module]:
    # the normalization has a bias of its own
    convolution = nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
