"""Decode a box of an encoded image and resize it to a square.

Pixels (binary PPM) are used as they are. A JPEG is decoded by libjpeg-turbo (simplejpeg), at 1/2, 1/4 or 1/8 of its
size if the box keeps at least as many pixels as the square needs, and resized by torch's SIMD code with antialiasing.
Pillow, whose results differ by less than the JPEG's own error (docs/decisions/0033-a-fast-decoder.md), decodes all
other files, JPEGs that libjpeg-turbo finds fault with, and everything where simplejpeg is not installed.
"""

import re
from collections.abc import Callable
from functools import cache
from io import BytesIO
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.nn.functional import interpolate

from trainers.data.images.crop import Box
from trainers.data.images.jpeg_part import cut_part

try:
    import simplejpeg
except ImportError:  # no wheel for this machine
    simplejpeg = None

Pixels = NDArray[np.uint8]  # of shape HWC
ChooseBox = Callable[[int, int], Box]  # (width, height) of the image -> the box
COLOR_SPACES = ("YCbCr", "RGB", "Gray")  # of JPEGs that have the same colors in libjpeg-turbo and Pillow
PPM_HEADER = re.compile(rb"P6\n(\d+) (\d+)\n255\n")  # as Pillow writes it
# Pillow's errors on damaged files
UNREADABLE = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)


def decode_square(content: bytes, choose: ChooseBox, size: int) -> Tensor:
    """Return a box of an image as uint8 of shape (3, size, size); raise one of UNREADABLE for a damaged image."""
    if (pixels_HWC := _view_ppm(content)) is not None:
        height, width, _ = pixels_HWC.shape
        return _resize(pixels_HWC, choose(width, height), size)
    choose = cache(choose)  # both decoders get the same box, though it is drawn at random
    decoded = _decode_jpeg(content, choose, size) if simplejpeg is not None and simplejpeg.is_jpeg(content) else None
    return _decode_by_pillow(content, choose, size) if decoded is None else decoded


def decode_pixels(content: bytes) -> Pixels:
    """Return a whole image, with the pixels of which `decode_square` takes a box that it does not reduce."""
    if (pixels_HWC := _view_ppm(content)) is not None:
        return pixels_HWC
    if simplejpeg is not None and simplejpeg.is_jpeg(content):
        try:
            if simplejpeg.decode_jpeg_header(content)[2] in COLOR_SPACES:
                decoded: Pixels = simplejpeg.decode_jpeg(content)
                return decoded
        except ValueError:
            pass  # Pillow has the last word
    with Image.open(BytesIO(content)) as image:
        return np.asarray(to_rgb(image))


def _view_ppm(content: bytes) -> Pixels | None:
    """Return the pixels of a PPM; None if it is none; raise ValueError if it is not whole."""
    header = PPM_HEADER.match(content)
    if header is None:
        return None
    width, height = (int(side) for side in header.groups())
    return np.frombuffer(content, np.uint8, 3 * width * height, offset=header.end()).reshape(height, width, 3)


def _decode_jpeg(content: bytes, choose: ChooseBox, size: int) -> Tensor | None:
    """Return the box, or None if Pillow must decode the image."""
    try:
        height, width, color, _ = simplejpeg.decode_jpeg_header(content)
        if color not in COLOR_SPACES or height * width > (Image.MAX_IMAGE_PIXELS or height * width):
            return None
        box = choose(width, height)
        factor = _reduction(box, size)
        encoded: bytes | bytearray = content
        if part := cut_part(content, box, margin=_margin(box, size, factor)):
            encoded, width, height = part.content, part.width, part.height
            box = box[0] - part.left, box[1] - part.upper, box[2] - part.left, box[3] - part.upper
        # a scale of k/8 other than these powers of two is slower than no scale
        least = {"min_height": height // factor, "min_width": width // factor} if factor > 1 else {}
        pixels_HWC = simplejpeg.decode_jpeg(encoded, min_factor=1, **least)
    except ValueError:  # Pillow reads more of a damaged file, and has the last word
        return None
    return _resize(pixels_HWC, _scale(box, 1 / factor), size)


def _margin(box: Box, size: int, factor: int) -> int:
    """Return the pixels around a box on which its own pixels depend: by the colors' upsampling, and by Pillow."""
    if factor == 1 and _is_whole(box):
        return 2
    return 4 * factor + ceil(2 * max(box[2] - box[0], box[3] - box[1]) / size)


def _is_whole(box: Box) -> bool:
    return all(float(edge).is_integer() for edge in box)


def _resize(pixels_HWC: Pixels, box: Box, size: int) -> Tensor:
    """Resize a box: by torch, or by Pillow if the box has a fraction of a pixel, which torch would round away."""
    if not _is_whole(box):
        return _resize_by_pillow(Image.fromarray(pixels_HWC), box, size)
    left, upper, right, lower = (int(edge) for edge in box)
    # a copy, because torch warns of pixels that it cannot write to
    part_1HWC = torch.from_numpy(pixels_HWC[upper:lower, left:right].copy()).unsqueeze(0)
    # the stride of an axis that a view adds last would hide from torch that colors are beside each other, as they stay
    return interpolate(part_1HWC.permute(0, 3, 1, 2), (size, size), mode="bilinear", antialias=True)[0]


def _reduction(box: Box, size: int) -> int:
    """Return the largest of 1, 2, 4 and 8 by which the box can shrink and keep size x size pixels."""
    shortest = min(box[2] - box[0], box[3] - box[1])
    return max(factor for factor in (1, 2, 4, 8) if factor == 1 or shortest >= factor * size)


def _decode_by_pillow(content: bytes, choose: ChooseBox, size: int) -> Tensor:
    with Image.open(BytesIO(content)) as image:
        width, height = image.size
        box = choose(width, height)
        factor = _reduction(box, size)
        drafted = image.draft("RGB", (width // factor, height // factor))
        # not the quotient of the sizes: a reduced image has a whole pixel where its last block has less
        scale = drafted[1][2] / width if drafted else 1.0
        return _resize_by_pillow(to_rgb(image), _scale(box, scale), size)


def _resize_by_pillow(image: Image.Image, box: Box, size: int) -> Tensor:
    square = image.resize((size, size), Image.Resampling.BILINEAR, box=box, reducing_gap=2.0)
    return torch.frombuffer(bytearray(square.tobytes()), dtype=torch.uint8).view(size, size, 3).permute(2, 0, 1)


def _scale(box: Box, scale: float) -> Box:
    left, upper, right, lower = box
    return left * scale, upper * scale, right * scale, lower * scale


GRAY_16 = ("I;16", "I;16L", "I;16B", "I;16N")
WITH_16_BITS = ("PNG", "PPM")  # formats whose images of mode I have 16 bits; in a TIFF the mode has 32
BITS_PER_SAMPLE = 258  # tag of a TIFF


def to_rgb(image: Image.Image) -> Image.Image:
    """Return an image of mode RGB; raise ValueError if the depth of the image is unknown.

    Pillow converts images of more than 8 bits by cutting values above 255 off, so that a gray image of 16 bits would
    become white. Here its bytes are the upper 8 bits, as Pillow itself has them for images of 16 bits in color.
    Transparency is left out.
    """
    if image.mode in ("I", "F") or image.mode in GRAY_16:
        gray_HW = np.asarray(image) >> (_bits(image) - 8)
        return Image.fromarray(gray_HW.astype(np.uint8)).convert("RGB")
    # Pillow has no direct way from gray that is multiplied by its opacity
    return (image.convert("LA") if image.mode == "La" else image).convert("RGB")


def _bits(image: Image.Image) -> int:
    """Return how many bits the values of a gray image have."""
    if image.mode in GRAY_16:
        tags = getattr(image, "tag_v2", {})
        return 12 if tags.get(BITS_PER_SAMPLE) == (12,) else 16
    if image.mode == "I" and image.format in WITH_16_BITS:
        return 16
    kind = "32-bit integers" if image.mode == "I" else "floating-point numbers"
    raise ValueError(
        f"its pixels are {kind} (Pillow's mode {image.mode}), of which no value is known to be white: "
        "convert it to 8 or 16 bits"
    )
