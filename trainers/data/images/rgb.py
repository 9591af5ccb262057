"""Turn an image of any of Pillow's modes into RGB bytes.

Pillow converts images of more than 8 bits by cutting values above 255 off, so that a gray image of 16 bits would become
white. Here its bytes are the upper 8 bits, as Pillow itself has them for images of 16 bits in color. Transparency is
left out.
"""

import numpy as np
from PIL import Image

GRAY_16 = ("I;16", "I;16L", "I;16B", "I;16N")
WITH_16_BITS = ("PNG", "PPM")  # formats whose images of mode I have 16 bits; in a TIFF the mode has 32
BITS_PER_SAMPLE = 258  # tag of a TIFF


def to_rgb(image: Image.Image) -> Image.Image:
    """Return an image of mode RGB; raise ValueError if the depth of the image is unknown."""
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
