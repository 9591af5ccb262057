"""A split whose training images a user's function changes at random."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from trainers.data.split import Batch, PixelSplit, SamplesOf, Split, StagedSplit
from trainers.data.workers.messages import HasConstants
from trainers.generators.sample_seed import sample_generators
from trainers.generators.seeds import alike

Augment = Callable[[Tensor], Tensor]  # x_CHW -> x_CHW


@dataclass
class AugmentedSplit:
    """The images of `split`, each changed by the function that `make` returns; `name` stands in error messages."""

    split: Split
    make: Callable[[], Augment]
    name: str
    seed: int
    epoch: int = 0
    _augment: Augment | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.split)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the function out: each loader process makes its own, since a local function cannot be pickled."""
        return {**self.__dict__, "_augment": None}

    @property
    def is_exchanged(self) -> bool:
        """Return whether the split below exchanges samples."""
        return isinstance(self.split, StagedSplit) and self.split.is_exchanged

    @property
    def constants(self) -> tuple[object, ...]:
        """Return the constant parts of the split below."""
        return self.split.constants if isinstance(self.split, HasConstants) else ()

    def stage(self, epoch: int, samples_of: SamplesOf) -> "AugmentedSplit":
        """Return the split with the random numbers of an epoch; all ranks call this together."""
        inner = self.split.stage(epoch, samples_of) if isinstance(self.split, StagedSplit) else self.split
        return replace(self, split=inner, epoch=epoch)

    def batch(self, index_B: Tensor) -> Batch:
        """Return changed images x_BCHW and their classes y_B."""
        x_BCHW, y_B = self.split.batch(index_B)
        if not isinstance(x_BCHW, Tensor):
            raise TypeError(f"{self.name} changes images, and the samples are tuples of {len(x_BCHW)} tensors")
        if isinstance(self.split, PixelSplit):
            x_BCHW = self.split.normalize(x_BCHW.contiguous())
        if self._augment is None:
            with alike(self.seed, "augmentation"):
                self._augment = self.make()
        changed = []
        # other numbers than those of the split below, which may be a user's data set with random samples
        with sample_generators(self.seed, ~self.epoch & 0xFFFFFFFF) as seed_sample:
            for x_CHW, number in zip(x_BCHW, index_B.tolist(), strict=True):
                seed_sample(number)
                changed.append(self._change(x_CHW))
        return torch.stack(changed), y_B

    def _change(self, x_CHW: Tensor) -> Tensor:
        assert self._augment is not None
        changed = self._augment(x_CHW)
        if not isinstance(changed, Tensor):
            raise TypeError(f"{self.name} returned a {type(changed).__name__}, not a tensor")
        if (changed.shape, changed.dtype) != (x_CHW.shape, x_CHW.dtype):
            found, given = f"{list(changed.shape)} {changed.dtype}", f"{list(x_CHW.shape)} {x_CHW.dtype}"
            raise ValueError(f"{self.name} made {found} of an image {given}: shape and type must stay")
        return changed
