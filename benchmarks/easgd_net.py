"""The net of the EASGD benchmark: a step computes about as long as the all-reduce of its parameters takes.

The paper overlaps the exchange with the forward and backward passes; without computation to overlap, its variants take
equal time. With eight ranks on two cores a step of 24 digits per rank computes 80 to 90 ms, and 1.3 MB over four links
of 160 Mbit/s take at least 96 ms.
"""

from torch import Tensor, nn


def net(channels: int, classes: int, width: int = 72, units: int = 192) -> nn.Module:
    """Return a net for the digits' 8 x 8 pixels with 320,074 parameters.

    It has one convolution, two residual blocks and two linear layers. The normalizations allow rates at which plain SGD
    converges after about 30 steps.
    """
    return nn.Sequential(
        nn.Conv2d(channels, width, kernel_size=3, padding=1),
        Residual(width),
        Residual(width),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(kernel_size=2),
        nn.Flatten(),
        nn.LayerNorm(width * 16),
        nn.Linear(width * 16, units),
        nn.ReLU(inplace=True),
        nn.Linear(units, classes),
    )


class Residual(nn.Module):
    """Compute x + conv(relu(norm(x))), which is initially the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        last = nn.Conv2d(width, width, kernel_size=3, padding=1)
        for p in last.parameters():
            nn.init.zeros_(p)
        self.branch = nn.Sequential(nn.GroupNorm(8, width), nn.ReLU(inplace=True), last)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return a tensor of the shape of x_BCHW."""
        out_BCHW: Tensor = x_BCHW + self.branch(x_BCHW)
        return out_BCHW
