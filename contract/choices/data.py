"""What a run may train on."""

from typing import Annotated, Literal

from pydantic import Field

from contract.base import Spec
from contract.numbers import Count


class Digits(Spec):
    """scikit-learn's handwritten digits: 1,797 real 8 x 8 images, every fifth of a fixed shuffle held out."""

    kind: Literal["digits"] = "digits"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one image."""
        return 1, 8, 8

    @property
    def classes(self) -> int:
        return 10

    @property
    def train_samples(self) -> int:
        return 1437

    @property
    def heldout_samples(self) -> int:
        return 360


class Glyphs(Spec):
    """Characters of 21 fonts under random affine maps and noise, 28 x 28 gray, rendered here and kept in a cache."""

    kind: Literal["glyphs"] = "glyphs"
    classes: Annotated[int, Field(ge=2, le=62)] = 47  # capitals first, then small letters, digits, and look-alikes
    train_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 50_000
    heldout_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one image."""
        return 1, 28, 28


class Synthetic(Spec):
    """Images made from a seed: a smooth pattern per class under noise, of any size, learnable."""

    kind: Literal["synthetic"] = "synthetic"
    channels: Annotated[int, Field(ge=1, le=16)] = 3
    height: Annotated[int, Field(ge=8, le=4096)] = 32
    width: Annotated[int, Field(ge=8, le=4096)] = 32
    classes: Annotated[int, Field(ge=2, le=100_000)] = 10
    train_samples: Count = 2048
    heldout_samples: Count = 512

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one image."""
        return self.channels, self.height, self.width


Data = Annotated[Digits | Glyphs | Synthetic, Field(discriminator="kind")]
