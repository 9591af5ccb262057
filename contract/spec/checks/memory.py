"""What one replica keeps in memory, and whether the parts of a chip fit its fast memory together.

    P (weights + data) <= fast memory                                   (You, Buluç & Demmel, 2017, section 6.2)

Weights are every vector as long as they: themselves, their gradients, what the optimizer and the rule keep. Data is
what lies in memory of the data set, and one batch. Activations and messages under way are not in the sum.
"""

from math import prod
from typing import NamedTuple, assert_never

from contract.spec.checks.model_size import FLOAT_BYTES, Size
from contract.spec.choices.data import Data, Digits, Folder, Glyphs, Pairs, Reversal, Synthetic
from contract.spec.choices.optimizers import LAMB, LARS, SGD, Optimizer
from contract.spec.choices.rules import EASGD, AsyncSGD, Rule, Sync
from contract.spec.many_core import ManyCore
from contract.validation import Fault

GIB = 2**30
LABEL_BYTES = WORD_BYTES = 8
TAPE = 2**16  # of the synthetic images' noise, in numbers
PATTERN = 4 * 4  # numbers of a class's pattern in each channel


class Replica(NamedTuple):
    """The parts of the sum, for one replica; `center` is what rank 0 has beside its replica, in vectors."""

    size: Size
    vectors: int
    center: int
    data_bytes: int

    def total_bytes(self, replicas: int) -> int:
        """What so many of them fill, rank 0 among them."""
        vector_bytes = FLOAT_BYTES * self.size.weights
        one = self.vectors * vector_bytes + self.size.buffer_bytes + self.data_bytes
        return replicas * one + self.center * vector_bytes

    def in_words(self, replicas: int) -> str:
        """The sum, as an equation."""
        weights = f"{self.vectors} vectors of {in_words(FLOAT_BYTES * self.size.weights)}"
        kept = [weights, *([f"buffers {in_words(self.size.buffer_bytes)}"] if self.size.buffer_bytes else [])]
        center = f" + {self.center} vectors of the center" if self.center else ""
        one = f"({' + '.join([*kept, f'data {in_words(self.data_bytes)}'])})"
        return f"{replicas} x {one}{center} = {in_words(self.total_bytes(replicas))}"


def overflow(many_core: ManyCore, replica: Replica) -> Fault | None:
    """What keeps the parts of a chip out of its fast memory; none where they fit, or nobody knows how much there is."""
    fast = many_core.fast_gib
    if fast is None or replica.total_bytes(many_core.parts) <= fast * GIB:
        return None
    message = f"{many_core.parts} parts do not fit {fast:g} GiB of fast memory: {replica.in_words(many_core.parts)}"
    return Fault(path="many_core.parts", message=message)


def vectors(rule: Rule, optimizer: Optimizer, *, world: int, averages: bool) -> tuple[int, int]:
    """How many vectors as long as the weights a replica has, and how many more rank 0 has."""
    own = 2 + averages  # weights and gradients
    others = world - 1
    match rule:
        case Sync():
            return own + _state(optimizer) + (world > 1), 0  # the packed gradients: at once where they are one bucket
        case EASGD(is_served=True):
            # room for a message, its answer, the pull; the center, and two for each worker
            return own + _state(optimizer) + 3, 1 + 2 * others
        case EASGD():
            return own + _state(optimizer) + 3, 0  # the center, the pull and their sum
        case AsyncSGD():
            # room for a message, its answer; the weights and their velocity, and two for each worker
            return own + 2, 2 + 2 * others
        case _:
            assert_never(rule)


def _state(optimizer: Optimizer) -> int:
    match optimizer:
        case SGD(momentum=momentum):
            return int(momentum > 0)
        case LARS():
            return 1
        case LAMB():
            return 2
        case _:
            assert_never(optimizer)


def data_bytes(data: Data, batch: int) -> int:
    """What a replica has in memory of its data, and a batch of so many samples; encoded images are not counted."""
    samples = data.train_samples + data.heldout_samples
    match data:
        case Digits():
            return (samples + batch) * (FLOAT_BYTES * prod(data.shape) + LABEL_BYTES)
        case Glyphs():
            return samples * (prod(data.shape) + LABEL_BYTES) + _images(data.shape, batch)
        case Synthetic():
            source = TAPE - 1 + prod(data.shape) + data.classes * data.channels * PATTERN
            return FLOAT_BYTES * source + _images(data.shape, batch)
        case Folder():
            return LABEL_BYTES * samples + _images(data.shape, batch)
        case Reversal() | Pairs():
            # source, what the decoder sees and what it should say, of at most so many words and one more
            return 3 * WORD_BYTES * (data.max_length + 1) * (samples + batch)
        case _:
            assert_never(data)


def _images(shape: tuple[int, int, int], batch: int) -> int:
    return batch * (FLOAT_BYTES * prod(shape) + LABEL_BYTES)


def in_words(size_bytes: float) -> str:
    """Bytes in the unit that leaves the fewest digits: 249 MiB."""
    for unit, name in ((GIB, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= unit:
            return (
                f"{size_bytes / unit:.3g} {name}" if size_bytes < 999.5 * unit else f"{size_bytes / unit:,.0f} {name}"
            )
    return f"{size_bytes:g} B"
