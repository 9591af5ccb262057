"""Which part of an image a net sees: a random one in training, the middle when it is judged.

Random-resized-crop (Szegedy et al., 2015, "Going deeper with convolutions", section 6): a box of 8 to 100 % of the area
with a ratio of sides from 3/4 to 4/3, stretched to the net's size, and its mirror image every other time.
"""

from math import exp, log, sqrt

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

Box = tuple[float, float, float, float]  # left, upper, right, lower, in pixels

AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
TRIES = 10
MARGIN = 0.875  # 224 of 256: the middle that an evaluation sees


def draws(seed: int, epoch: int, number: int) -> Generator:
    """Random numbers of one image in one epoch, whoever decodes it."""
    return np.random.Generator(PCG64(SeedSequence([seed, epoch, number])))


def random_box(width: int, height: int, draw: Generator) -> Box:
    """Return a box within an image; after ten that do not fit, the largest in the middle within the ratios."""
    for _ in range(TRIES):
        area = width * height * draw.uniform(*AREA)
        ratio = exp(draw.uniform(log(RATIO[0]), log(RATIO[1])))
        w, h = round(sqrt(area * ratio)), round(sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, upper = int(draw.integers(width - w + 1)), int(draw.integers(height - h + 1))
            return left, upper, left + w, upper + h
    return _middle(width, height, w=min(width, height * RATIO[1]), h=min(height, width / RATIO[0]))


def middle_box(width: int, height: int) -> Box:
    """Return the square in the middle, 7/8 of the shorter side."""
    side = MARGIN * min(width, height)
    return _middle(width, height, w=side, h=side)


def _middle(width: int, height: int, *, w: float, h: float) -> Box:
    left, upper = (width - w) / 2, (height - h) / 2
    return left, upper, left + w, upper + h
