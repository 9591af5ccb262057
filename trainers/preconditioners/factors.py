"""Factors: the running averages of all Kronecker factors in one flat vector, which is also the message that sums them.

    A_k = d_k A_(k-1) + (1 - d_k) A,     d_k = min(1 - 1/k, decay)          (Martens & Grosse, 2015, section 5)

k counts the updates. The first average is so the first batch's factor; kfac-pytorch begins with the identity instead.
The vector has the factors of all inputs, then those of all outputs: the first part is complete after the forward pass,
and its sum over the ranks runs beside the backward pass.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.preconditioners.packing import pack, unpack
from trainers.preconditioners.shapes import BlockShape
from trainers.preconditioners.words import size_of


class FactorsNotFinite(ArithmeticError):
    """A factor is no longer finite: inputs or gradients are too large."""


@dataclass(frozen=True)
class _Place:
    """Where a factor is in the flat vector."""

    start: int
    words: int
    size: int
    is_diagonal: bool

    def of(self, flat_F: Tensor) -> Tensor:
        return flat_F[self.start : self.start + self.words]


class Factors:
    """The running averages of the blocks' factors; equal on all ranks."""

    def __init__(self, blocks: Sequence[BlockShape], *, decay: float, like: Tensor, dtype: torch.dtype) -> None:
        self._decay, self._dtype = decay, dtype  # `dtype`: of the messages
        self._blocks = blocks
        self._places: list[list[_Place]] = []  # of each side, of each block
        start = 0
        for side in (0, 1):
            places = []
            for block in blocks:
                words = block.factor_words[side]
                places.append(_Place(start, words, size_of(block, side), block.is_diagonal and side == 0))
                start += words
            self._places.append(places)
        wide = torch.promote_types(like.dtype, torch.float32)
        self.average_F = torch.zeros(start, dtype=wide, device=like.device)
        self.updates = 0
        self._input_words = sum(place.words for place in self._places[0])

    def make_message(self) -> tuple[Tensor, Tensor]:
        """Return a new message as its two parts, of the inputs and of the outputs; both are views of one vector."""
        message_F = torch.zeros(len(self.average_F), dtype=self._message_dtype, device=self.average_F.device)
        return message_F[: self._input_words], message_F[self._input_words :]

    def fill(self, part_f: Tensor, side: int, factors: Sequence[Tensor | None], *, share: float) -> None:
        """Write the factors of one side, times `share`, into its part of a message; `factors`: of each block."""
        begin = self._places[side][0].start
        for place, factor in zip(self._places[side], factors, strict=True):
            if factor is not None:
                flat = factor if place.is_diagonal else pack(factor)
                part_f[place.start - begin : place.start - begin + place.words] = flat * (share / self._unit(place))

    def update(self, message_F: Tensor) -> None:
        """Move the running averages towards the factors that all ranks have summed."""
        fresh_F = message_F.to(self.average_F.dtype)
        if self._dtype is torch.float16:
            fresh_F *= torch.cat([self._unit_vector(place) for places in self._places for place in places])
        self.updates += 1
        decay = min(1 - 1 / self.updates, self._decay)
        self.average_F.mul_(decay).add_(fresh_F, alpha=1 - decay)

    def copy_average(self) -> Tensor:
        """Return a copy of the running averages; raise FactorsNotFinite if they are not finite, on all ranks alike."""
        if not bool(self.average_F.isfinite().all()):
            pairs = (
                (block, place, side)
                for side in (0, 1)
                for block, place in zip(self._blocks, self._places[side], strict=True)
            )
            name, side = next(
                (b.name, s) for b, place, s in pairs if not bool(place.of(self.average_F).isfinite().all())
            )
            what = "outputs' gradients" if side else "inputs"
            raise FactorsNotFinite(f"the K-FAC factor of the {what} of layer {name} is not finite")
        return self.average_F.clone()

    def factor(self, flat_F: Tensor, block: int, side: int) -> Tensor:
        """Return a factor of a vector of averages: an n x n matrix, or the diagonal of a diagonal factor."""
        place = self._places[side][block]
        return place.of(flat_F) if place.is_diagonal else unpack(place.of(flat_F), place.size)

    @property
    def _message_dtype(self) -> torch.dtype:
        return self.average_F.dtype if self._dtype is torch.float32 else self._dtype

    def _unit(self, place: _Place) -> float:
        """Return the unit of a factor in float16 messages, of small range: a power of two near its largest number.

        The average of earlier steps decides, which all ranks have; before the first update the unit is 1.
        """
        if self._dtype is not torch.float16 or not self.updates:
            return 1.0
        largest = float(place.of(self.average_F).abs().max())
        return 2.0 ** math.floor(math.log2(largest)) if largest > 0 else 1.0

    def _unit_vector(self, place: _Place) -> Tensor:
        return self.average_F.new_full((place.words,), self._unit(place))
