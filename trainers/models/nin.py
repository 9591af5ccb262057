"""Network in Network (Lin, Chen & Yan, 2013, arXiv:1312.4400) for ImageNet: 7,595,176 parameters.

Four blocks of one wide convolution and two 1 x 1 convolutions, each with ReLU; the last 1 x 1 has a channel per class,
and the channels' averages are the logits. FireCaffe (Iandola et al., 2015) uses it instead of AlexNet, with 30 MB of
gradients instead of 244.

Weights are initialized as in the file of FireCaffe's author: N(0, 0.05^2) for 1 x 1 and the fourth block, N(0, 0.01^2)
for the other wide convolutions and the logits; biases are 0.
"""

from torch import Tensor, nn

from trainers.models.alexnet import max_pool
from trainers.models.initialization import gaussian


class NiN(nn.Module):
    """Map x_BCHW of at least 39 x 39 pixels to the logits of K classes; 227 x 227 gives the published net."""

    def __init__(self, channels: int, classes: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_block(nn.Conv2d(channels, 96, kernel_size=11, stride=4), std=0.01),
            max_pool(),
            *_block(nn.Conv2d(96, 256, kernel_size=5, padding=2), std=0.01),
            max_pool(),
            *_block(nn.Conv2d(256, 384, kernel_size=3, padding=1), std=0.01),
            max_pool(),
            nn.Dropout(dropout),
            *_block(nn.Conv2d(384, 1024, kernel_size=3, padding=1), std=0.05, outputs=classes, last_std=0.01),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        logits_BK: Tensor = self.layers(x_BCHW)
        return logits_BK


def _block(wide: nn.Conv2d, *, std: float, outputs: int | None = None, last_std: float = 0.05) -> list[nn.Module]:
    """Return a wide convolution and two 1 x 1 of equal width; the last has `outputs` channels if given."""
    width = wide.out_channels
    return [
        gaussian(wide, std),
        nn.ReLU(inplace=True),
        gaussian(nn.Conv2d(width, width, kernel_size=1), 0.05),
        nn.ReLU(inplace=True),
        gaussian(nn.Conv2d(width, outputs or width, kernel_size=1), last_std),
        nn.ReLU(inplace=True),
    ]
