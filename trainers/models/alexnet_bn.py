"""AlexNet-BN, the net of LARS's 32K runs (You, Gitman & Ginsburg, 2017): 60,965,224 parameters for ImageNet.

AlexNet with batch normalization in place of local response normalization: as the file that the authors train from has
it, it stands before the second to fifth convolution, after the rectifier and the maximum, without scale and shift of
its own (so the number of parameters is AlexNet's) and with epsilon 1e-4. Dropout stays. Weights begin as AlexNet's;
biases at 0.01, those of the wide layers at 0.1.
"""

from torch import Tensor, nn

from trainers.models.alexnet import classifier, shrink
from trainers.models.initialization import gaussian


class AlexNetBN(nn.Module):
    """Maps x_BCHW, from 39 x 39 up, to the logits of K classes; at 227 x 227 it is the published net."""

    def __init__(self, channels: int, classes: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            gaussian(nn.Conv2d(channels, 96, kernel_size=11, stride=4), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            shrink(),
            _norm(96),
            gaussian(nn.Conv2d(96, 256, kernel_size=5, padding=2, groups=2), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            shrink(),
            _norm(256),
            gaussian(nn.Conv2d(256, 384, kernel_size=3, padding=1), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            _norm(384),
            gaussian(nn.Conv2d(384, 384, kernel_size=3, padding=1, groups=2), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            _norm(384),
            gaussian(nn.Conv2d(384, 256, kernel_size=3, padding=1, groups=2), 0.01, bias=0.01),
            nn.ReLU(inplace=True),
            shrink(),
        )
        self.classifier = classifier(classes, dropout=dropout, last_bias=0.01)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        logits_BK: Tensor = self.classifier(self.features(x_BCHW))
        return logits_BK


def _norm(channels: int) -> nn.BatchNorm2d:
    # Caffe keeps 0.9 of the running statistics at every step, which torch calls a momentum of 0.1
    return nn.BatchNorm2d(channels, eps=1e-4, momentum=0.1, affine=False)
