"""Characters of 21 fonts, turned, stretched, sheared, shifted and covered with noise: 28 x 28 gray images.

Image i, of class i mod K, samples a large drawing of one character in one font at

    X = center + 1.9 R S D (x - shift)

(R a rotation, S a shear, D a stretch; four pixels of the drawing are blended for one of the image) and becomes
paper + (ink - paper) drawing(X) + noise in 256 grays. All randomness is raw words of PCG64, and floating point is used
in sums, products and roots of single numbers alone, which round alike everywhere: the bits depend on the numbers asked
for and on FreeType's drawings, not on the machine.
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

from trainers.data.array_cache import Bytes, kept
from trainers.data.split import Grays

# capitals, small letters of another shape, digits; then those that differ from a capital in their size alone
CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "abdefghnqrt" + "2345678901" + "cijklmopsuvwxyz"
FAMILIES = {
    "DejaVuSans": ("", "-Bold", "-Oblique", "-BoldOblique"),
    "DejaVuSansMono": ("", "-Bold", "-Oblique", "-BoldOblique"),
    "DejaVuSerif": ("", "-Bold", "-Italic", "-BoldItalic"),
    "STIXGeneral": ("", "Bol", "Italic", "BolIta"),
    "cm": ("b10", "r10", "ss10", "ti10", "tt10"),
}
FONTS = [f"{family}{style}.ttf" for family, styles in FAMILIES.items() for style in styles]
FOLDER = "mpl-data/fonts/ttf"  # in matplotlib, which brings these fonts along

SIDE = 28
DRAWING, EM, BASELINE = 64, 44, 47  # pixels: side of a drawing, size of the font, where letters stand
SHRINK = 1.9  # pixels of the drawing to one of the image

TURN = 0.3  # tangent of the largest rotation
STRETCH, ASPECT, SHEAR, SHIFT = 0.2, 0.15, 0.25, 2.5
INK, PAPER = (0.6, 1.0), (0.0, 0.25)
NOISE = (0.03, 0.15)  # deviation

SEED = 1
BLOCK = 500  # images that are made at once, from a seed of their own
TRAIN, HELDOUT = 0, 1
PARAMETERS = 10  # random numbers that an image takes besides its noise
NOISE_BYTES = 4  # of a pixel: their sum is close to normal


def glyphs(classes: int, *, train_samples: int, heldout_samples: int, cache: Path) -> tuple[Grays, Grays]:
    """Return the training and the held-out images, rendered once and kept in the folder `cache`."""
    if classes > len(CHARACTERS):
        raise ValueError(f"there are {len(CHARACTERS)} characters, fewer than {classes} classes")
    what = f"{classes}-{train_samples}-{heldout_samples}"
    content = kept(cache / f"glyphs-{_recipe()}-{what}", lambda: _render_both(classes, train_samples, heldout_samples))
    x_N1HW = torch.from_numpy(content).view(-1, 1, SIDE, SIDE)
    train = Grays(x_N1HW[:train_samples], _classes(train_samples, classes))
    return train, Grays(x_N1HW[train_samples:], _classes(heldout_samples, classes), like=train)


def _recipe() -> str:
    """What the images follow from, so that another version of this file takes another name in the cache."""
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
    """Every character in every font, white on black, float32 from 0 to 1."""
    package = find_spec("matplotlib")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the glyphs are drawn with fonts of matplotlib, which is not installed here")
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
    """Images `first` to `first + length - 1` of a split as bytes (length, SIDE, SIDE)."""
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
    """Numbers of a block: float64 from -1 to 1 (BLOCK, PARAMETERS), noise float32 of mean 0 and deviation 1."""
    words = PCG64(SeedSequence([SEED, split, block]))
    numbers = words.random_raw(BLOCK * PARAMETERS).reshape(BLOCK, PARAMETERS)
    uniform_BP = torch.from_numpy((numbers >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1)
    raw = words.random_raw(BLOCK * SIDE * SIDE * NOISE_BYTES // 8).astype("<u8").view(np.uint8)
    sums_BHW = raw.reshape(BLOCK, SIDE, SIDE, NOISE_BYTES).sum(axis=-1, dtype=np.int32)
    deviation = (NOISE_BYTES * (256**2 - 1) / 12) ** 0.5
    return uniform_BP, (torch.from_numpy(sums_BHW).float() - NOISE_BYTES * 255 / 2) / deviation


def _sample(drawing_DHW: Tensor, drawing_B: Tensor, uniform_BP: Tensor) -> Tensor:
    """Each image's drawing on the image's grid, blended of the four pixels around each point."""
    row_BHW, column_BHW = _points(uniform_BP)
    # a drawing's border is black, and so is everything beyond it
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
    """Where in the drawing each pixel of an image lies: rows and columns (B, SIDE, SIDE), float64."""
    turn, stretch, aspect, shear, right, down = (column.view(-1, 1, 1) for column in uniform_BP.unbind(1))
    grid_S = torch.arange(SIDE, dtype=torch.float64) - (SIDE - 1) / 2
    y, x = grid_S.view(1, -1, 1) - SHIFT * down, grid_S.view(1, 1, -1) - SHIFT * right
    scale = SHRINK * (1 + STRETCH * stretch)
    x, y = x * scale * (1 + ASPECT * aspect), y * scale * (1 - ASPECT * aspect)
    x = x + SHEAR * shear * y
    tangent = TURN * turn
    cosine = 1 / torch.sqrt(1 + tangent * tangent)
    sine = tangent * cosine
    center = (DRAWING - 1) / 2
    return center + sine * x + cosine * y, center + cosine * x - sine * y
