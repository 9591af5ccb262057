"""Image files as a split: decoded, cropped, mirrored and normalized when a batch is asked for.

What becomes of an image depends on the seed, the epoch and its number alone, so any rank and any worker makes the same
sample of it. One that cannot be decoded is named, counted (bad.py) and replaced by the next that can, up to a limit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from trainers.data.images.bad_images import BadImages, TooManyBadImages
from trainers.data.images.crop import Box, draws, middle_box, random_box
from trainers.data.memory_store.sample_store import Files, Memory

Color = Sequence[float]  # of red, green, blue, from 0 to 1
UNREADABLE = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)  # what Pillow raises on a broken file


@dataclass(frozen=True)
class Images:
    """A split of images (3, size, size)."""

    source: Files
    size: int
    mean: Color
    deviation: Color
    bad: BadImages
    is_bad_N: Tensor  # bool, in shared memory: every worker process of this rank knows what one has found
    seed: int | None = None  # of random crops; none: the middle
    epoch: int = 0
    memory: Memory | None = None

    def __len__(self) -> int:
        return len(self.source.labels)

    def stage(self, epoch: int, takes: Callable[[int], Tensor]) -> "Images":
        """Return the same images under the crops of an epoch; from memory, where they were put into it."""
        source = self.memory.arrange(epoch, takes) if self.memory else self.source
        return replace(self, source=source, epoch=epoch, memory=None)

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return x_BCHW and y_B. Raises TooManyBadImages, which names the last one."""
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
                    self.bad.note(self.source.path(number), error)
            number = (number + 1) % len(self)
        raise TooManyBadImages(f"none of {len(self)} images can be decoded")

    def _decode(self, number: int) -> np.ndarray:
        """Return bytes (size, size, 3)."""
        with Image.open(BytesIO(self.source.read(number))) as image:
            if self.seed is None:
                return _cut(image, middle_box(*image.size), self.size)
            draw = draws(self.seed, self.epoch, number)
            pixels = _cut(image, random_box(*image.size, draw), self.size)
            return pixels[:, ::-1] if draw.integers(2) else pixels


def bad_marks(samples: int) -> Tensor:
    """No image is bad as yet; in shared memory."""
    return torch.zeros(samples, dtype=torch.bool).share_memory_()  # type: ignore[no-untyped-call,no-any-return]


def _cut(image: Image.Image, box: Box, size: int) -> np.ndarray:
    """Decode an image and stretch a box of it to size x size."""
    width, height = image.size
    # a JPEG can be decoded at a half, a quarter or an eighth: as long as the box keeps more pixels than are asked for
    times = max(1, int(min(box[2] - box[0], box[3] - box[1]) // size))
    image.draft("RGB", (width // times, height // times))
    shrunk = image.size[0] / width, image.size[1] / height
    scaled = (box[0] * shrunk[0], box[1] * shrunk[1], box[2] * shrunk[0], box[3] * shrunk[1])
    square = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR, box=scaled, reducing_gap=2.0)
    return np.asarray(square)
