"""What a run may train on."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count

Share = Annotated[float, Field(ge=0, le=1)]  # of the brightest
Shade = Annotated[float, Field(gt=0, le=1)]
THREE = Field(min_length=3, max_length=3)  # red, green, blue


class Ready(Spec):
    """Data of which a batch is made at once, without processes that work ahead."""

    @property
    def workers(self) -> int:
        """Processes of each rank that make batches while a step runs."""
        return 0


class Digits(Ready):
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


class Glyphs(Ready):
    """Characters of 21 fonts under random affine maps and noise, 28 x 28 gray, rendered here and kept in a cache."""

    kind: Literal["glyphs"] = "glyphs"
    classes: Annotated[int, Field(ge=2, le=62)] = 47  # capitals first, then small letters, digits, and look-alikes
    train_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 50_000
    heldout_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one image."""
        return 1, 28, 28


class Synthetic(Ready):
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


class InMemory(Spec):
    """Stored images lie in the memory of ranks and move between them before every epoch (DIMD; Kumar et al., 2017)."""

    group: Count | None = None  # ranks that hold one copy together; none: all


class Folder(Spec):
    """JPEG and PNG files in class folders; `python -m trainers.data PATH` counts them and writes these lines."""

    kind: Literal["folder"] = "folder"
    path: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^/[^\x00]*$")]  # as the ranks see it
    classes: Annotated[int, Field(ge=2, le=100_000)]
    train_samples: Count
    heldout_samples: Count  # those in val/; without val/, so many are held out
    size: Annotated[int, Field(ge=8, le=4096)] = 224  # height and width that the net sees
    mean: Annotated[list[Share], Field(min_length=3, max_length=3)] = [
        0.485,
        0.456,
        0.406,
    ]  # ImageNet's
    deviation: Annotated[list[Shade], THREE] = [0.229, 0.224, 0.225]
    workers: Annotated[int, Field(ge=0, le=256)] = 2  # processes of each rank that decode while a step runs
    max_bad_images: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0  # over the whole run, before it fails
    in_memory: InMemory | None = None  # none: files are read when they are needed

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one image."""
        return 3, self.size, self.size


class Reversal(Ready):
    """Sentence pairs made from a seed: the translation is the source read backwards, in other words."""

    kind: Literal["reversal"] = "reversal"
    vocabulary: Annotated[int, Field(ge=6, le=100_000)] = 32  # of both languages, with four that are no words
    max_length: Annotated[int, Field(ge=3, le=1000)] = 10  # words of a sentence; the shortest have 3
    train_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    heldout_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 512


class Pairs(Ready):
    """Lines of a sentence, a tab and its translation, words between spaces; a fixed shuffle holds some out."""

    kind: Literal["pairs"] = "pairs"
    path: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^/[^\x00]*$")]  # as the ranks see it
    vocabulary: Annotated[int, Field(ge=6, le=1_000_000)] = 32_000  # of both languages: the most frequent words
    max_length: Annotated[int, Field(ge=1, le=1000)] = 50  # words, to which sentences are cut
    train_samples: Count
    heldout_samples: Count


Sentences = Reversal | Pairs
Data = Annotated[Digits | Folder | Glyphs | Synthetic | Sentences, Field(discriminator="kind")]
