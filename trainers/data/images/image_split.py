"""A split of image files, which are decoded, cropped and mirrored when a batch is read.

A batch has bytes, a quarter of the memory of the net's inputs, and is normalized on the net's device.

The sample made from an image depends only on the seed, the epoch and the image's number, so all ranks and workers make
the same sample. An image that cannot be decoded is recorded (bad_images.py) and replaced by the next good image.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import torch
from torch import Tensor

from trainers.data.images.bad_images import BadImages, TooManyBadImages
from trainers.data.images.crop import UNITS, center_square, fixed_square, is_mirrored, random_box
from trainers.data.images.decoder import UNREADABLE, decode_square
from trainers.data.images.image_draws import draw_units
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

    def target_numbers(self) -> Tensor:
        """Return the classes."""
        return self.source.labels

    @property
    def is_exchanged(self) -> bool:
        """Return whether the ranks exchange images before every epoch."""
        return self.store is not None and self.store.is_exchanged

    @property
    def constants(self) -> tuple[object, ...]:
        """Return the list of files, which is the same in every epoch."""
        return (self.source.files if isinstance(self.source, SampleShard) else self.source,)

    def stage(self, epoch: int, samples_of: SamplesOf) -> "Images":
        """Return the same images with the crops of an epoch, read from the memory store if there is one."""
        source = self.store.arrange(epoch, samples_of) if self.store else self.source
        return replace(self, source=source, epoch=epoch, store=None)

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return pixels_BCHW, bytes, and y_B; raise TooManyBadImages with the last bad image's name."""
        # the colors of a pixel beside each other, as decoders and resizing make them
        pixels_BCHW = torch.empty(
            len(index_B), 3, self.size, self.size, dtype=torch.uint8, memory_format=torch.channels_last
        )
        images = zip(index_B.tolist(), self._draw(index_B), pixels_BCHW.unbind(), strict=True)
        good_B = [self._next_good(number, unit_U, pixels_CHW) for number, unit_U, pixels_CHW in images]
        return pixels_BCHW, self.source.labels[torch.tensor(good_B, dtype=torch.int64)]

    def normalize(self, pixels_BCHW: Tensor) -> Tensor:
        """Return the net's inputs x_BCHW of a batch, on its device."""
        mean_C11, deviation_C11 = (_scale(tuple(part), pixels_BCHW.device) for part in (self.mean, self.deviation))
        return pixels_BCHW.float().sub_(mean_C11).div_(deviation_C11)

    def _draw(self, number_B: Tensor) -> list[list[float]]:
        """Return the random numbers of each image, if it needs any."""
        if self.seed is None:
            return [[]] * len(number_B)
        drawn: list[list[float]] = draw_units(self.seed, self.epoch, number_B.numpy(), UNITS).tolist()
        return drawn

    def _next_good(self, number: int, unit_U: Sequence[float], pixels_CHW: Tensor) -> int:
        """Write an image, or the next one that can be decoded; return the number of the image written."""
        for _ in range(len(self)):
            if not self.is_bad_N[number]:
                try:
                    pixels_CHW.copy_(self._decode(number, unit_U))
                    return number
                except UNREADABLE as error:
                    self.is_bad_N[number] = True
                    self.bad.record(self.source.path(number), error)
            number = (number + 1) % len(self)
            (unit_U,) = self._draw(torch.tensor([number]))
        raise TooManyBadImages(f"none of {len(self)} images can be decoded")

    def _decode(self, number: int, unit_U: Sequence[float]) -> Tensor:
        """Return the pixels, uint8 of shape (3, size, size)."""
        content = self.source.read(number)
        if self.seed is None:
            return decode_square(content, center_square, self.size)
        random = fixed_square if self.is_fixed else random_box
        choose = partial(random, unit_U=unit_U) if self.crops else center_square
        pixels_CHW = decode_square(content, choose, self.size)
        return pixels_CHW.flip(-1) if self.mirrors and is_mirrored(unit_U) else pixels_CHW


@cache
def _scale(color: tuple[float, ...], device: torch.device) -> Tensor:
    """Return a color in the unit of bytes, once for each device: a copy to a device may wait for it."""
    return 255 * torch.tensor(color, device=device).view(-1, 1, 1)


def new_bad_marks(samples: int) -> Tensor:
    """Return the marks of a split without bad images, in shared memory."""
    return to_shared_memory(torch.zeros(samples, dtype=torch.bool))
