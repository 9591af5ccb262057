"""AlexNet (Krizhevsky, Sutskever & Hinton, 2012) as Caffe trains it: 60,965,224 parameters for ImageNet.

The second, fourth and fifth convolutions see half of the channels each (the paper's two GPUs). Without these groups
it is the net of 62,378,344 parameters, 249 MB, whose messages FireCaffe and EASGD count. The LARS papers train
Caffe's.

    y_c = x_c (1 + alpha/n sum of n neighbors' squares)^-beta,   n = 5, alpha = 1e-4, beta = 0.75

is its local response normalization. Weights begin as N(0, 0.01^2), the two wide layers' as N(0, 0.005^2); biases at 0
or 0.1 as in Caffe's file.
"""

from torch import Tensor, nn

from trainers.models.initialization import gaussian

FINAL = 6  # the last map is FINAL x FINAL for the published 227 x 227; others are averaged or repeated to it


class AlexNet(nn.Module):
    """Maps x_BCHW, from 39 x 39 up, to the logits of K classes; at 227 x 227 it is the published net."""

    def __init__(self, channels: int, classes: int, *, groups: int = 2, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            gaussian(nn.Conv2d(channels, 96, kernel_size=11, stride=4), 0.01),
            nn.ReLU(inplace=True),
            nn.LocalResponseNorm(5),
            shrink(),
            gaussian(nn.Conv2d(96, 256, kernel_size=5, padding=2, groups=groups), 0.01, bias=0.1),
            nn.ReLU(inplace=True),
            nn.LocalResponseNorm(5),
            shrink(),
            gaussian(nn.Conv2d(256, 384, kernel_size=3, padding=1), 0.01),
            nn.ReLU(inplace=True),
            gaussian(nn.Conv2d(384, 384, kernel_size=3, padding=1, groups=groups), 0.01, bias=0.1),
            nn.ReLU(inplace=True),
            gaussian(nn.Conv2d(384, 256, kernel_size=3, padding=1, groups=groups), 0.01, bias=0.1),
            nn.ReLU(inplace=True),
            shrink(),
        )
        self.classifier = classifier(classes, dropout=dropout)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        logits_BK: Tensor = self.classifier(self.features(x_BCHW))
        return logits_BK


def shrink() -> nn.MaxPool2d:
    """Overlapping maxima; where the last window sticks out of the map it counts, as in Caffe."""
    return nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)


def classifier(classes: int, *, dropout: float, last_bias: float = 0.0) -> nn.Sequential:
    """Two layers of 4,096 units and the logits."""
    return nn.Sequential(
        nn.AdaptiveAvgPool2d(FINAL),
        nn.Flatten(),
        gaussian(nn.Linear(256 * FINAL * FINAL, 4096), 0.005, bias=0.1),
        nn.ReLU(inplace=True),
        nn.Dropout(dropout),
        gaussian(nn.Linear(4096, 4096), 0.005, bias=0.1),
        nn.ReLU(inplace=True),
        nn.Dropout(dropout),
        gaussian(nn.Linear(4096, classes), 0.01, bias=last_bias),
    )
