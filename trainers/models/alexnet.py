"""AlexNet (Krizhevsky, Sutskever & Hinton, 2012) as Caffe trains it: 60,965,224 parameters for ImageNet.

The second, fourth and fifth convolutions have two groups, each with half of the channels (the paper's two GPUs).
Without groups the net has 62,378,344 parameters, 249 MB, the message size in FireCaffe and EASGD. The LARS papers train
Caffe's form.

    y_c = x_c (1 + alpha/n sum of n neighbors' squares)^-beta,   n = 5, alpha = 1e-4, beta = 0.75

is its local response normalization. Weights are initialized from N(0, 0.01^2), those of the two wide layers from
N(0, 0.005^2); biases are 0 or 0.1 as in Caffe's file.
"""

from torch import Tensor, nn

from trainers.models.initialization import gaussian

FINAL = 6  # side of the last feature map at 227 x 227 pixels; other maps are pooled to this size


class AlexNet(nn.Module):
    """Map x_BCHW of at least 39 x 39 pixels to the logits of K classes; 227 x 227 gives the published net."""

    def __init__(self, channels: int, classes: int, *, groups: int = 2, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            gaussian(nn.Conv2d(channels, 96, kernel_size=11, stride=4), 0.01),
            nn.ReLU(inplace=True),
            nn.LocalResponseNorm(5),
            max_pool(),
            gaussian(nn.Conv2d(96, 256, kernel_size=5, padding=2, groups=groups), 0.01, bias=0.1),
            nn.ReLU(inplace=True),
            nn.LocalResponseNorm(5),
            max_pool(),
            gaussian(nn.Conv2d(256, 384, kernel_size=3, padding=1), 0.01),
            nn.ReLU(inplace=True),
            gaussian(nn.Conv2d(384, 384, kernel_size=3, padding=1, groups=groups), 0.01, bias=0.1),
            nn.ReLU(inplace=True),
            gaussian(nn.Conv2d(384, 256, kernel_size=3, padding=1, groups=groups), 0.01, bias=0.1),
            nn.ReLU(inplace=True),
            max_pool(),
        )
        self.classifier = classifier(classes, dropout=dropout)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        logits_BK: Tensor = self.classifier(self.features(x_BCHW))
        return logits_BK


def max_pool() -> nn.MaxPool2d:
    """Return Caffe's overlapping max pooling, which includes a last window that exceeds the map."""
    return nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)


def classifier(classes: int, *, dropout: float, last_bias: float = 0.0) -> nn.Sequential:
    """Return two layers of 4,096 units and the layer of the logits."""
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
