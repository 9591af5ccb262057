"""AlexNet-BN, the net of LARS's 32K runs (You, Gitman & Ginsburg, 2017): 60,965,224 parameters for ImageNet.

AlexNet with batch normalization instead of local response normalization. As in the authors' file it precedes the second
to fifth convolution, after ReLU and max pooling, has no scale and shift (so the number of parameters is AlexNet's), and
epsilon is 1e-4. Dropout remains. Weights are initialized as in AlexNet, biases with 0.01, those of the wide layers with
0.1.
"""

from torch import Tensor, nn

from trainers.models.alexnet import classifier, max_pool
from trainers.models.initialization import gaussian


class AlexNetBN(nn.Module):
    """Map x_BCHW of at least 39 x 39 pixels to the logits of K classes; 227 x 227 gives the published net."""

    def __init__(self, channels: int, classes: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            gaussian(nn.Conv2d(channels, 96, kernel_size=11, stride=4), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            max_pool(),
            _norm(96),
            gaussian(nn.Conv2d(96, 256, kernel_size=5, padding=2, groups=2), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            max_pool(),
            _norm(256),
            gaussian(nn.Conv2d(256, 384, kernel_size=3, padding=1), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            _norm(384),
            gaussian(nn.Conv2d(384, 384, kernel_size=3, padding=1, groups=2), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            _norm(384),
            gaussian(nn.Conv2d(384, 256, kernel_size=3, padding=1, groups=2), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            max_pool(),
        )
        self.classifier = classifier(classes, dropout=dropout, last_bias=0.01)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        logits_BK: Tensor = self.classifier(self.features(x_BCHW))
        return logits_BK


def _norm(channels: int) -> nn.BatchNorm2d:
    # Caffe's factor of 0.9 for the running statistics is a momentum of 0.1 in torch.
    return nn.BatchNorm2d(channels, eps=1e-4, momentum=0.1, affine=False)
