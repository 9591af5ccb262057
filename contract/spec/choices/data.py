"""The spec of the data set."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.choices.imported import Imported
from contract.spec.numbers import Count

Share = Annotated[float, Field(ge=0, le=1)]  # fraction of the maximum brightness
Shade = Annotated[float, Field(gt=0, le=1)]
NodePath = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^/[^\x00]*$")]
THREE = Field(min_length=3, max_length=3)  # red, green, blue


class Ready(Spec):
    """Data sets whose batches need no worker processes."""

    @property
    def workers(self) -> int:
        """The number of worker processes per rank that prepare batches."""
        return 0


class Digits(Ready):
    """scikit-learn's handwritten digits: 1,797 real 8 x 8 images, every fifth of a fixed shuffle held out."""

    kind: Literal["digits"] = "digits"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        return 1, 8, 8

    @property
    def classes(self) -> int:
        """The number of classes."""
        return 10

    @property
    def train_samples(self) -> int:
        """The number of training samples."""
        return 1437

    @property
    def heldout_samples(self) -> int:
        """The number of held-out samples."""
        return 360


class Glyphs(Ready):
    """Characters of 21 fonts under random affine maps and noise, 28 x 28 gray, generated once per machine."""

    kind: Literal["glyphs"] = "glyphs"
    classes: Annotated[int, Field(ge=2, le=62)] = 47
    """Number of characters: capitals first, then small letters, digits, and similar characters."""
    train_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 50_000
    """Number of training samples."""
    heldout_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Number of held-out samples."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        return 1, 28, 28


class Synthetic(Ready):
    """Images generated from a seed: a smooth pattern per class plus noise, of any size."""

    kind: Literal["synthetic"] = "synthetic"
    channels: Annotated[int, Field(ge=1, le=16)] = 3
    """Number of channels."""
    height: Annotated[int, Field(ge=8, le=4096)] = 32
    """Height in pixels."""
    width: Annotated[int, Field(ge=8, le=4096)] = 32
    """Width in pixels."""
    classes: Annotated[int, Field(ge=2, le=100_000)] = 10
    """Number of classes."""
    train_samples: Count = 2048
    """Number of training samples."""
    heldout_samples: Count = 512
    """Number of held-out samples."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        return self.channels, self.height, self.width


class InMemory(Spec):
    """Encoded images are in the memory of the ranks, which exchange images before every epoch (Kumar et al., 2017)."""

    group: Count | None = Field(default=None, examples=[4])
    """Number of ranks that together hold one copy; null: all ranks."""


class ImageFiles(Spec):
    """Encoded images on the compute nodes, which are cropped and decoded when a batch is made."""

    path: NodePath = Field(examples=["/data/imagenet"])
    """Path of the folder on the compute nodes."""
    classes: Annotated[int, Field(ge=2, le=100_000, examples=[1000])]
    """Number of classes."""
    train_samples: Count = Field(examples=[1281167])
    """Number of training images."""
    heldout_samples: Count = Field(examples=[50000])
    """Number of held-out images; of a folder without val/, the number of files to hold out."""
    size: Annotated[int, Field(ge=8, le=4096)] = 224
    """Height and width of the net's input, in pixels."""
    mean: Annotated[list[Share], THREE] = [0.485, 0.456, 0.406]
    """Mean of each channel, as a fraction of the largest brightness; the default is that of ImageNet."""
    deviation: Annotated[list[Shade], THREE] = [0.229, 0.224, 0.225]
    """Standard deviation of each channel, in the same unit."""
    workers: Annotated[int, Field(ge=0, le=256)] | None = Field(default=None, examples=[8])
    """Number of processes per rank that decode images; 0: the rank itself; null: by the cpus of the rank."""
    max_bad_images: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    """Number of images that may be unreadable, over all attempts; after more of them the run fails."""
    image_list: NodePath | None = Field(default=None, examples=["/data/dedup/images.txt"])
    """Path of a list of the training images that are used, as `bigbatch dedup` writes it; null: all. The held-out
    images do not depend on it, and `train_samples` is the number of listed images."""
    in_memory: InMemory | None = None
    """Whether the ranks hold the encoded images in memory; null: files are read for every batch."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        return 3, self.size, self.size


class Folder(ImageFiles):
    """JPEG and PNG files in class folders; `python -m trainers.data PATH` counts the files and prints this spec."""

    kind: Literal["folder"] = "folder"


class Shards(ImageFiles):
    """Images in tar files with an index; `python -m trainers.data.shards write` makes them and prints this spec."""

    kind: Literal["shards"] = "shards"


class Reversal(Ready):
    """Sentence pairs generated from a seed: the target is the reversed source in other words."""

    kind: Literal["reversal"] = "reversal"
    vocabulary: Annotated[int, Field(ge=6, le=100_000)] = 32
    """Number of tokens of each language, with four special tokens."""
    max_length: Annotated[int, Field(ge=3, le=1000)] = 10
    """Longest sentence in words; the shortest has 3."""
    train_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    """Number of training pairs."""
    heldout_samples: Annotated[int, Field(ge=1, le=1_000_000)] = 512
    """Number of held-out pairs."""


class Pairs(Ready):
    """A text file with a sentence, a tab and its translation per line; a fixed shuffle selects the held-out lines."""

    kind: Literal["pairs"] = "pairs"
    path: NodePath = Field(examples=["/data/de-en.tsv"])
    """Path of the file on the compute nodes."""
    vocabulary: Annotated[int, Field(ge=6, le=1_000_000)] = 32_000
    """Number of tokens of each language: the most frequent words."""
    max_length: Annotated[int, Field(ge=1, le=1000)] = 50
    """Number of words to which longer sentences are cut."""
    train_samples: Count = Field(examples=[4500000])
    """Number of training pairs."""
    heldout_samples: Count = Field(examples=[3000])
    """Number of held-out pairs."""


class Text(Ready):
    """Windows of a text's bytes, for language models; a fixed shuffle selects the held-out windows."""

    kind: Literal["text"] = "text"
    path: NodePath | None = Field(default=None, examples=["/data/book.txt"])
    """Path of the file on the compute nodes; null: the modules of Python's standard library there."""
    context: Annotated[int, Field(ge=1, le=65_536)] = 128
    """Length of a sample in bytes."""
    train_samples: Count = 8192
    """Number of training samples."""
    heldout_samples: Count = 512
    """Number of held-out samples."""

    @property
    def vocabulary(self) -> int:
        """The number of tokens: the values of a byte."""
        return 256


class Bodies(Ready):
    """Volumes generated from a seed: bright ellipsoids in noise; the target is which voxels are inside."""

    kind: Literal["bodies"] = "bodies"
    edge: Annotated[int, Field(ge=4, le=256)] = 32
    """Voxels of a volume along each axis."""
    train_samples: Count = 256
    """Number of training volumes."""
    heldout_samples: Count = 32
    """Number of held-out volumes."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Channels, depth, height and width of one volume."""
        return 1, self.edge, self.edge, self.edge

    @property
    def classes(self) -> int:
        """The number of classes: outside and inside."""
        return 2


class ImportedData(Imported):
    """A user's data sets: the function returns the training and the held-out set, each with `len()` and an index.

    Sample `dataset[i]` is (input, target); torch's default_collate makes batches of samples. Random numbers of torch,
    NumPy and Python are seeded for each sample, so that a resumed run draws the same numbers.
    """

    shape: Annotated[list[Count], Field(min_length=1, max_length=6)] = Field(examples=[[3, 32, 32]])
    """Shape of the input of one sample, of an image (channels, height, width)."""
    classes: Annotated[int, Field(ge=2, le=1_000_000)] | None = Field(default=None, examples=[10])
    """Number of classes, if targets are numbers of classes; null: the targets are something else."""
    train_samples: Count = Field(examples=[50000])
    """Number of training samples."""
    heldout_samples: Count = Field(examples=[10000])
    """Number of held-out samples."""
    workers: Annotated[int, Field(ge=0, le=256)] = 0
    """Number of processes per rank that make batches; 0: the rank itself."""


Sentences = Reversal | Pairs
Tokens = Sentences | Text  # data sets whose samples are sequences of tokens
EngineData = Bodies | Digits | Folder | Glyphs | Shards | Synthetic | Tokens
Data = Annotated[EngineData | ImportedData, Field(discriminator="kind")]
