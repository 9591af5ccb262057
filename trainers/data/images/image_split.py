"""A split of image files, which are decoded, cropped, mirrored and normalized when a batch is read.

The sample made from an image depends only on the seed, the epoch and the image's number, so all ranks and workers make
the same sample. An image that cannot be decoded is recorded (bad_images.py) and replaced by the next good image.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from trainers.data.images.bad_images import BadImages, TooManyBadImages
from trainers.data.images.crop import Box, center_square, fixed_square, new_generator, random_box
from trainers.data.memory_store.sample_store import Files, SampleStore
from trainers.data.split import SamplesOf

Color = Sequence[float]  # of red, green, blue, from 0 to 1
UNREADABLE = (
    OSError,
    SyntaxError,
    ValueError,
    Image.DecompressionBombError,
)  # Pillow's errors on damaged files


@dataclass(frozen=True)
class Images:
    """A split of images (3, size, size)."""

    source: Files
    size: int
    mean: Color
    deviation: Color
    bad: BadImages
    is_bad_N: Tensor  # bool, in shared memory, so that all worker processes of this rank see the bad images
    seed: int | None = None  # of random crops and mirror images; None: the central square
    crops: bool = True  # a random box, not the central square
    is_fixed: bool = False  # the random box is a square of fixed size
    mirrors: bool = True  # every second image, at random
    epoch: int = 0
    store: SampleStore | None = None

    def __len__(self) -> int:
        return len(self.source.labels)

    def stage(self, epoch: int, samples_of: SamplesOf) -> "Images":
        """Return the same images with the crops of an epoch, read from the memory store if there is one."""
        source = self.store.arrange(epoch, samples_of) if self.store else self.source
        return replace(self, source=source, epoch=epoch, store=None)

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return x_BCHW and y_B; raise TooManyBadImages with the last bad image's name."""
        pixels, classes = zip(*(self._next_good(int(number)) for number in index_B), strict=True)
        x_BCHW = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2).float()
        mean_C11, deviation_C11 = (255 * torch.tensor(part).view(-1, 1, 1) for part in (self.mean, self.deviation))
        return x_BCHW.sub_(mean_C11).div_(deviation_C11).contiguous(), torch.stack(classes)

    def _next_good(self, number: int) -> tuple[np.ndarray, Tensor]:
        for _ in range(len(self)):
            if not self.is_bad_N[number]:
                try:
                    return self._decode(number), self.source.labels[number]
                except UNREADABLE as error:
                    self.is_bad_N[number] = True
                    self.bad.record(self.source.path(number), error)
            number = (number + 1) % len(self)
        raise TooManyBadImages(f"none of {len(self)} images can be decoded")

    def _decode(self, number: int) -> np.ndarray:
        """Return the pixels, uint8 of shape (size, size, 3)."""
        with Image.open(BytesIO(self.source.read(number))) as image:
            if self.seed is None:
                return _crop(image, center_square(*image.size), self.size)
            draw = new_generator(self.seed, self.epoch, number)
            random = fixed_square if self.is_fixed else random_box
            box = random(*image.size, draw) if self.crops else center_square(*image.size)
            pixels = _crop(image, box, self.size)
            return pixels[:, ::-1] if self.mirrors and draw.integers(2) else pixels


def new_bad_marks(samples: int) -> Tensor:
    """Return the marks of a split without bad images, in shared memory."""
    return torch.zeros(samples, dtype=torch.bool).share_memory_()  # type: ignore[no-untyped-call,no-any-return]


def _crop(image: Image.Image, box: Box, size: int) -> np.ndarray:
    """Decode a box of an image and resize it to size x size."""
    width, height = image.size
    # Pillow can decode a JPEG at 1/2, 1/4 or 1/8 of its size; the box must keep at least size x size pixels.
    factor = max(1, int(min(box[2] - box[0], box[3] - box[1]) // size))
    image.draft("RGB", (width // factor, height // factor))
    shrunk = image.size[0] / width, image.size[1] / height
    scaled = (box[0] * shrunk[0], box[1] * shrunk[1], box[2] * shrunk[0], box[3] * shrunk[1])
    square = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR, box=scaled, reducing_gap=2.0)
    return np.asarray(square)
