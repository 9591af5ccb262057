"""A split of image files, which are decoded, cropped, mirrored and normalized when a batch is read.

The sample made from an image depends only on the seed, the epoch and the image's number, so all ranks and workers make
the same sample. An image that cannot be decoded is recorded (bad_images.py) and replaced by the next good image.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from trainers.data.images.bad_images import BadImages, TooManyBadImages
from trainers.data.images.crop import center_square, fixed_square, new_generator, random_box
from trainers.data.images.decoder import UNREADABLE, decode_square
from trainers.data.memory_store.sample_store import Files, SampleShard, SampleStore
from trainers.data.shared_tensor import to_shared_memory
from trainers.data.split import SamplesOf

Color = Sequence[float]  # of red, green, blue, from 0 to 1


@dataclass(frozen=True)
class Images:
    """A split of images (3, size, size)."""

    source: Files | SampleShard
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

    @property
    def is_exchanged(self) -> bool:
        """Return whether the ranks exchange images before every epoch."""
        return self.store is not None

    @property
    def constants(self) -> tuple[object, ...]:
        """Return the list of files, which is the same in every epoch."""
        return (self.source.files if isinstance(self.source, SampleShard) else self.source,)

    def stage(self, epoch: int, samples_of: SamplesOf) -> "Images":
        """Return the same images with the crops of an epoch, read from the memory store if there is one."""
        source = self.store.arrange(epoch, samples_of) if self.store else self.source
        return replace(self, source=source, epoch=epoch, store=None)

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return x_BCHW and y_B; raise TooManyBadImages with the last bad image's name."""
        pixels_BCHW = torch.empty(len(index_B), 3, self.size, self.size, dtype=torch.uint8)
        y_B = torch.empty(len(index_B), dtype=self.source.labels.dtype)
        for place, number in enumerate(index_B.tolist()):
            pixels_BCHW[place], y_B[place] = self._next_good(number)
        mean_C11, deviation_C11 = (255 * torch.tensor(part).view(-1, 1, 1) for part in (self.mean, self.deviation))
        return pixels_BCHW.float().sub_(mean_C11).div_(deviation_C11), y_B

    def _next_good(self, number: int) -> tuple[Tensor, Tensor]:
        for _ in range(len(self)):
            if not self.is_bad_N[number]:
                try:
                    return self._decode(number), self.source.labels[number]
                except UNREADABLE as error:
                    self.is_bad_N[number] = True
                    self.bad.record(self.source.path(number), error)
            number = (number + 1) % len(self)
        raise TooManyBadImages(f"none of {len(self)} images can be decoded")

    def _decode(self, number: int) -> Tensor:
        """Return the pixels, uint8 of shape (3, size, size)."""
        content = self.source.read(number)
        if self.seed is None:
            return decode_square(content, center_square, self.size)
        draw = new_generator(self.seed, self.epoch, number)
        random = fixed_square if self.is_fixed else random_box
        choose = partial(random, draw=draw) if self.crops else center_square
        pixels_CHW = decode_square(content, choose, self.size)
        return pixels_CHW.flip(-1) if self.mirrors and draw.integers(2) else pixels_CHW


def new_bad_marks(samples: int) -> Tensor:
    """Return the marks of a split without bad images, in shared memory."""
    return to_shared_memory(torch.zeros(samples, dtype=torch.bool))
