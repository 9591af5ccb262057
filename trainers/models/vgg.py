"""VGG-16 and VGG-19 (Simonyan & Zisserman, 2014, arXiv:1409.1556, table 1, columns D and E), without normalization.

For ImageNet they have 138,357,544 and 143,667,240 parameters; the latter are FireCaffe's 575 MB. Convolutions and wide
layers are initialized by He's normal distribution (He et al., 2015, arXiv:1502.01852, who train nets of this form from
it), the last layer from N(0, 0.01^2), and all biases with 0.
"""

from torch import Tensor, nn

from trainers.models.initialization import Layer, gaussian

STAGES = {16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}  # depth -> convolutions of each stage
WIDTHS = (64, 128, 256, 512, 512)
FINAL = 7  # side of the last feature map at 224 x 224 pixels; other maps are pooled to this size
UNITS = 4096


class VGG(nn.Module):
    """Map x_BCHW of at least 32 x 32 pixels to the logits of K classes; 224 x 224 gives the published net."""

    def __init__(self, channels: int, classes: int, *, depth: int, dropout: float = 0.5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = channels
        for width, count in zip(WIDTHS, STAGES[depth], strict=True):
            for _ in range(count):
                layers += [_he(nn.Conv2d(inputs, width, kernel_size=3, padding=1)), nn.ReLU(inplace=True)]
                inputs = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(FINAL),
            nn.Flatten(),
            _he(nn.Linear(inputs * FINAL * FINAL, UNITS)),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            _he(nn.Linear(UNITS, UNITS)),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            gaussian(nn.Linear(UNITS, classes), 0.01),
        )

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return logits_BK."""
        logits_BK: Tensor = self.classifier(self.features(x_BCHW))
        return logits_BK


def _he(layer: Layer) -> Layer:
    inputs = layer.weight[0].numel()
    return gaussian(layer, (2 / inputs) ** 0.5)
