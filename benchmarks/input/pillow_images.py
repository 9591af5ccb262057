"""The input as it was before decision 33, to compare with: Pillow decodes and resizes, and colors are interleaved."""

from io import BytesIO

import numpy as np
import torch
from numpy.random import PCG64, SeedSequence
from PIL import Image
from torch import Tensor

from trainers.data.images.crop import UNITS, random_box
from trainers.data.memory_store.sample_store import Files


def pillow_batch(files: Files, index_B: Tensor, *, epoch: int, size: int, colors: tuple[list[float], ...]) -> Tensor:
    """Return normalized random crops x_BCHW; `colors`: mean and deviation."""
    pixels_BHWC = np.stack([_decode(files.read(number), number, epoch, size) for number in index_B.tolist()])
    x_BCHW = torch.from_numpy(pixels_BHWC).permute(0, 3, 1, 2).float()
    mean_C11, deviation_C11 = (255 * torch.tensor(part).view(-1, 1, 1) for part in colors)
    return x_BCHW.sub_(mean_C11).div_(deviation_C11).contiguous()


def _decode(content: bytes, number: int, epoch: int, size: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    with Image.open(BytesIO(content)) as image:
        width, height = image.size
        draw = np.random.Generator(PCG64(SeedSequence([0, epoch, number])))
        box = random_box(width, height, draw.random(UNITS).tolist())
        factor = max(1, int(min(box[2] - box[0], box[3] - box[1]) // size))
        image.draft("RGB", (width // factor, height // factor))
        across, down = image.size[0] / width, image.size[1] / height
        scaled = box[0] * across, box[1] * down, box[2] * across, box[3] * down
        square = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR, box=scaled, reducing_gap=2.0)
        pixels_HWC = np.asarray(square)
        return pixels_HWC[:, ::-1] if draw.integers(2) else pixels_HWC
