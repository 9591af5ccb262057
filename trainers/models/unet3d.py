"""3-D U-Net (Çiçek et al., 2016, arXiv:1606.06650): the class of each voxel of a volume, without batch normalization.

With L levels, level l has w 2^l channels and voxels of 2^l times the edge. Two convolutions of 3 x 3 x 3 at each level
on the way down and on the way up; max pooling between levels on the way down, transposed convolutions of 2 x 2 x 2 on
the way up; each level's way up begins with the channels of its way down beside those from below. Sides that are no
multiple of 2^(L - 1) are padded with the outermost voxels, and the output is cropped.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool3d, pad, relu


class UNet3D(nn.Module):
    """Map x_BCZYX to logits_BKZYX."""

    def __init__(self, channels: int, classes: int, *, width: int = 8, levels: int = 3) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(levels)]
        inputs = [channels, *widths[:-1]]
        self.down = nn.ModuleList(Double(i, w) for i, w in zip(inputs, widths, strict=True))
        self.lift = nn.ModuleList(nn.ConvTranspose3d(2 * w, w, 2, stride=2) for w in widths[:-1])
        self.up = nn.ModuleList(Double(2 * w, w) for w in widths[:-1])
        self.head = nn.Conv3d(width, classes, 1)
        self.multiple = 2 ** (levels - 1)
        for module in self.modules():
            if isinstance(module, nn.Conv3d | nn.ConvTranspose3d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.zeros_(cast(Tensor, module.bias))

    def forward(self, x_BCZYX: Tensor) -> Tensor:
        """Return logits_BKZYX."""
        z, y, x = x_BCZYX.shape[2:]
        missing = [side for length in (x, y, z) for side in (0, -length % self.multiple)]
        h = pad(x_BCZYX, missing, mode="replicate") if any(missing) else x_BCZYX
        kept: list[Tensor] = []
        for level, down in enumerate(self.down):
            h = down(max_pool3d(h, 2) if level else h)
            kept.append(h)
        for level in reversed(range(len(self.lift))):
            h = self.up[level](torch.cat([kept[level], self.lift[level](h)], dim=1))
        logits_BKZYX: Tensor = self.head(h)
        return logits_BKZYX[:, :, :z, :y, :x]


class Double(nn.Module):
    """Two convolutions with their rectifiers."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv3d(inputs, outputs, 3, padding=1)
        self.second = nn.Conv3d(outputs, outputs, 3, padding=1)

    def forward(self, x_BCZYX: Tensor) -> Tensor:
        """Return h_BCZYX."""
        return relu(self.second(relu(self.first(x_BCZYX))))
