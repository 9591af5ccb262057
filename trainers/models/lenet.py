"""LeNet (LeCun, Bottou, Bengio & Haffner, 1998) in Caffe's form for MNIST: 431,080 parameters.

Two 5 x 5 convolutions of 20 and 50 channels, each followed by 2 x 2 max pooling, then 500 hidden units with ReLU. It is
the small net of You, Buluc and Demmel's EASGD study (2017). Weights are initialized by Caffe's xavier, biases with 0.
"""

from torch import Tensor, nn

from trainers.models.initialization import xavier


class LeNet(nn.Module):
    """Map x_BCHW of at least 13 x 13 pixels to the logits of K classes; 28 x 28 gives the published net."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            xavier(nn.Conv2d(channels, 20, kernel_size=5)),
            nn.MaxPool2d(kernel_size=2, stride=2, ceil_mode=True),
            xavier(nn.Conv2d(20, 50, kernel_size=5)),
            nn.MaxPool2d(kernel_size=2, stride=2, ceil_mode=True),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(
            xavier(nn.Linear(50 * 4 * 4, 500)),
            nn.ReLU(inplace=True),
            xavier(nn.Linear(500, classes)),
        )

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        logits_BK: Tensor = self.classifier(self.features(x_BCHW))
        return logits_BK
