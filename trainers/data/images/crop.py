"""The part of an image that a net gets: a random box in training, the center in an evaluation.

Random-resized-crop (Szegedy et al., 2015, "Going deeper with convolutions", section 6): a box of 8 to 100 % of the area
with an aspect ratio from 3/4 to 4/3, resized to the net's input size, and mirrored with probability 1/2. Caffe's nets
have the older, weaker augmentation: a random square of fixed size (Krizhevsky, Sutskever & Hinton, 2012, section 4.1).
"""

from collections.abc import Sequence
from math import exp, log, sqrt

Box = tuple[float, float, float, float]  # left, upper, right, lower, in pixels

AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
TRIES = 10
UNITS = 2 * TRIES + 3  # random numbers of an image: area and ratio of each try, then left, upper, and whether mirrored
MARGIN = 0.875  # 224 of 256: share of the shorter side in an evaluation


def random_box(width: int, height: int, unit_U: Sequence[float]) -> Box:
    """Return a box within the image; after TRIES boxes that do not fit, the largest central box of a valid ratio.

    unit_U: UNITS numbers from 0 to 1, drawn for this image.
    """
    for number in range(TRIES):
        area = width * height * _between(AREA, unit_U[2 * number])
        ratio = exp(_between((log(RATIO[0]), log(RATIO[1])), unit_U[2 * number + 1]))
        w, h = round(sqrt(area * ratio)), round(sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, upper = int(unit_U[-3] * (width - w + 1)), int(unit_U[-2] * (height - h + 1))
            return left, upper, left + w, upper + h
    return _central_box(width, height, w=min(width, height * RATIO[1]), h=min(height, width / RATIO[0]))


def fixed_square(width: int, height: int, unit_U: Sequence[float]) -> Box:
    """Return a random square of 7/8 of the shorter side within the central square (Krizhevsky et al., 2012)."""
    short = min(width, height)
    side = MARGIN * short
    left, upper = (
        unit * (short - side) + (length - short) / 2
        for unit, length in zip(unit_U[-3:-1], (width, height), strict=True)
    )
    return left, upper, left + side, upper + side


def is_mirrored(unit_U: Sequence[float]) -> bool:
    """Return whether the image is mirrored: every second one, at random."""
    return unit_U[-1] < 0.5


def center_square(width: int, height: int) -> Box:
    """Return the central square with 7/8 of the shorter side."""
    side = MARGIN * min(width, height)
    return _central_box(width, height, w=side, h=side)


def _central_box(width: int, height: int, *, w: float, h: float) -> Box:
    left, upper = (width - w) / 2, (height - h) / 2
    return left, upper, left + w, upper + h


def _between(limits: tuple[float, float], unit: float) -> float:
    return limits[0] + (limits[1] - limits[0]) * unit
