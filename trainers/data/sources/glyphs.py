"""Characters of 21 fonts, rotated, stretched, sheared, shifted and with noise: 28 x 28 gray images.

Image i, of class i mod K, samples a large drawing of one character in one font at

    X = center + 1.9 R S D (x - shift)

(R a rotation, S a shear, D a stretch; bilinear interpolation between four pixels of the drawing) and becomes
paper + (ink - paper) drawing(X) + noise in 256 grays. All random numbers are raw words of PCG64, and floating point is
used only in sums, products and roots of single numbers, which round in the same way on all machines: the bits depend
on the requested numbers and on FreeType's drawings, not on the machine.
"""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from numpy.random import PCG64, SeedSequence
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from trainers.data.array_cache import Bytes, load_or_create
from trainers.data.split import GraySplit

# Capitals, small letters of another shape, digits; then small letters that differ from a capital only in size.
CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "abdefghnqrt" + "2345678901" + "cijklmopsuvwxyz"
FAMILIES = {
    "DejaVuSans": ("", "-Bold", "-Oblique", "-BoldOblique"),
    "DejaVuSansMono": ("", "-Bold", "-Oblique", "-BoldOblique"),
    "DejaVuSerif": ("", "-Bold", "-Italic", "-BoldItalic"),
    "STIXGeneral": ("", "Bol", "Italic", "BolIta"),
    "cm": ("b10", "r10", "ss10", "ti10", "tt10"),
}
FONTS = [f"{family}{style}.ttf" for family, styles in FAMILIES.items() for style in styles]
FOLDER = "mpl-data/fonts/ttf"  # in matplotlib, which contains these fonts

SIDE = 28
DRAWING, EM, BASELINE = 64, 44, 47  # pixels: side of a drawing, font size, baseline
SHRINK = 1.9  # pixels of the drawing per pixel of the image

ROTATION = 0.3  # tangent of the largest rotation
STRETCH, ASPECT, SHEAR, SHIFT = 0.2, 0.15, 0.25, 2.5
INK, PAPER = (0.6, 1.0), (0.0, 0.25)
NOISE = (0.03, 0.15)  # deviation

SEED = 1
BLOCK = 500  # images that are rendered together, from one seed
TRAIN, HELDOUT = 0, 1
PARAMETERS = 10  # random numbers per image without the noise
NOISE_BYTES = 4  # random bytes per pixel, whose sum is close to normal


def glyphs(classes: int, *, train_samples: int, heldout_samples: int, cache: Path) -> tuple[GraySplit, GraySplit]:
    """Return the training and the held-out images, rendered once and stored in the folder `cache`."""
    if classes > len(CHARACTERS):
        raise ValueError(f"there are {len(CHARACTERS)} characters, fewer than {classes} classes")
    path = cache / f"glyphs-{_source_hash()}-{classes}-{train_samples}-{heldout_samples}"
    content = load_or_create(path, lambda: _render_both(classes, train_samples, heldout_samples))
    x_N1HW = torch.from_numpy(content).view(-1, 1, SIDE, SIDE)
    train = GraySplit(x_N1HW[:train_samples], _classes(train_samples, classes))
    return train, GraySplit(x_N1HW[train_samples:], _classes(heldout_samples, classes), like=train)


def _source_hash() -> str:
    """Return a hash of this file, so that each version of this file has its own name in the cache."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]


def _classes(samples: int, classes: int) -> Tensor:
    return torch.arange(samples) % classes


def _render_both(classes: int, train_samples: int, heldout_samples: int) -> Bytes:
    drawing_KFHW = _draw(CHARACTERS[:classes])
    blocks = [
        _render(drawing_KFHW, split=split, first=first, length=min(BLOCK, samples - first))
        for split, samples in ((TRAIN, train_samples), (HELDOUT, heldout_samples))
        for first in range(0, samples, BLOCK)
    ]
    return np.concatenate(blocks).reshape(-1)


def _draw(characters: str) -> Tensor:
    """Draw every character in every font: drawing_KFHW, white on black, float32 from 0 to 1."""
    package = find_spec("matplotlib")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the glyphs need the fonts of matplotlib: pip install bigbatch[trainer]")
    folder = Path(package.origin).parent / FOLDER
    fonts = [ImageFont.truetype(str(folder / name), EM, layout_engine=ImageFont.Layout.BASIC) for name in FONTS]
    drawings = [[np.asarray(_draw_one(character, font)) for font in fonts] for character in characters]
    return torch.from_numpy(np.array(drawings)).float() / 255


def _draw_one(character: str, font: ImageFont.FreeTypeFont) -> Image.Image:
    image = Image.new("L", (DRAWING, DRAWING))
    left, _, right, _ = font.getbbox(character, anchor="ls")
    ImageDraw.Draw(image).text(((DRAWING - right - left) / 2, BASELINE), character, fill=255, font=font, anchor="ls")
    return image


def _render(drawing_KFHW: Tensor, *, split: int, first: int, length: int) -> NDArray[np.uint8]:
    """Render the images `first` to `first + length - 1` of a split: uint8 (length, SIDE, SIDE)."""
    uniform_BP, noise_BHW = _random(split, first // BLOCK)
    uniform_BP, noise_BHW = uniform_BP[:length], noise_BHW[:length]
    classes, fonts = drawing_KFHW.shape[:2]
    y_B = (torch.arange(length) + first) % classes
    font_B = ((uniform_BP[:, 0] + 1) / 2 * fonts).long()
    shape_BHW = _sample(drawing_KFHW.flatten(0, 1), y_B * fonts + font_B, uniform_BP[:, 1:7])
    ink_B11, paper_B11, deviation_B11 = (
        (low + (high - low) * (uniform_BP[:, 7 + number] + 1) / 2).float().view(-1, 1, 1)
        for number, (low, high) in enumerate((INK, PAPER, NOISE))
    )
    gray_BHW = paper_B11 + (ink_B11 - paper_B11) * shape_BHW + deviation_B11 * noise_BHW
    return (gray_BHW * 255).round().clamp(0, 255).byte().numpy()


def _random(split: int, block: int) -> tuple[Tensor, Tensor]:
    """Return a block's random numbers: float64 from -1 to 1 (BLOCK, PARAMETERS), and float32 noise N(0, 1)."""
    words = PCG64(SeedSequence([SEED, split, block]))
    numbers = words.random_raw(BLOCK * PARAMETERS).reshape(BLOCK, PARAMETERS)
    uniform_BP = torch.from_numpy((numbers >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1)
    raw = words.random_raw(BLOCK * SIDE * SIDE * NOISE_BYTES // 8).astype("<u8").view(np.uint8)
    sums_BHW = raw.reshape(BLOCK, SIDE, SIDE, NOISE_BYTES).sum(axis=-1, dtype=np.int32)
    deviation = (NOISE_BYTES * (256**2 - 1) / 12) ** 0.5
    return uniform_BP, (torch.from_numpy(sums_BHW).float() - NOISE_BYTES * 255 / 2) / deviation


def _sample(drawing_DHW: Tensor, drawing_B: Tensor, uniform_BP: Tensor) -> Tensor:
    """Sample each image's drawing on the image's grid by bilinear interpolation."""
    row_BHW, column_BHW = _points(uniform_BP)
    # The border of a drawing is black, and so is the area outside.
    row_BHW, column_BHW = row_BHW.clamp(0, DRAWING - 1.001), column_BHW.clamp(0, DRAWING - 1.001)
    top_BHW, left_BHW = row_BHW.floor(), column_BHW.floor()
    down_BHW, right_BHW = (row_BHW - top_BHW).float(), (column_BHW - left_BHW).float()
    corner_BHW = (drawing_B.view(-1, 1, 1) * DRAWING + top_BHW.long()) * DRAWING + left_BHW.long()
    flat_D = drawing_DHW.flatten()
    upper_BHW = flat_D[corner_BHW] * (1 - right_BHW) + flat_D[corner_BHW + 1] * right_BHW
    corner_BHW += DRAWING
    lower_BHW = flat_D[corner_BHW] * (1 - right_BHW) + flat_D[corner_BHW + 1] * right_BHW
    return upper_BHW * (1 - down_BHW) + lower_BHW * down_BHW


def _points(uniform_BP: Tensor) -> tuple[Tensor, Tensor]:
    """Return the position of each pixel in the drawing: rows and columns (B, SIDE, SIDE), float64."""
    rotation, stretch, aspect, shear, right, down = (column.view(-1, 1, 1) for column in uniform_BP.unbind(1))
    grid_S = torch.arange(SIDE, dtype=torch.float64) - (SIDE - 1) / 2
    y, x = grid_S.view(1, -1, 1) - SHIFT * down, grid_S.view(1, 1, -1) - SHIFT * right
    scale = SHRINK * (1 + STRETCH * stretch)
    x, y = x * scale * (1 + ASPECT * aspect), y * scale * (1 - ASPECT * aspect)
    x = x + SHEAR * shear * y
    tangent = ROTATION * rotation
    cosine = 1 / torch.sqrt(1 + tangent * tangent)
    sine = tangent * cosine
    center = (DRAWING - 1) / 2
    return center + sine * x + cosine * y, center + cosine * x - sine * y
