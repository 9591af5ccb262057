"""Memory of one replica, and the check that all parts of a chip fit into its fast memory.

    P (weights + data) <= fast memory                                   (You, Buluç & Demmel, 2017, section 6.2)

"Weights" counts every vector with one number per weight: the weights, their gradients, and the state of the optimizer
and of the rule. "Data" is the part of the data set in memory, and one batch. Activations and messages in flight are not
counted.
"""

from math import prod
from typing import TYPE_CHECKING, NamedTuple, assert_never

from contract.spec.checks.model_size import FLOAT_BYTES, ModelSize, model_size_of
from contract.spec.choices.data import (
    Bodies,
    Digits,
    EngineData,
    Folder,
    Glyphs,
    ImportedData,
    Pairs,
    Reversal,
    Shards,
    Synthetic,
    Text,
)
from contract.spec.choices.optimizers import LAMB, LARS, SGD, Adam, AdamW, EngineOptimizer, ImportedOptimizer
from contract.spec.choices.rules import EASGD, AsyncSGD, Rule, Sync
from contract.spec.many_core import ManyCore
from contract.validation import ValidationIssue

if TYPE_CHECKING:
    from contract.spec.run import RunSpec

GIB = 2**30
LABEL_BYTES = WORD_BYTES = 8
TAPE = 2**16  # length of the synthetic images' noise, in numbers
PATTERN = 4 * 4  # numbers per class and channel of the synthetic images' patterns


class ReplicaMemory(NamedTuple):
    """Memory of one replica; `center`: additional vectors of rank 0."""

    size: ModelSize
    vectors: int
    center: int
    data_bytes: int

    def total_bytes(self, replicas: int) -> int:
        """Return the bytes of `replicas` replicas, rank 0 included."""
        vector_bytes = FLOAT_BYTES * self.size.weights
        one = self.vectors * vector_bytes + self.size.buffer_bytes + self.data_bytes
        return replicas * one + self.center * vector_bytes

    def describe(self, replicas: int) -> str:
        """Return the calculation of the total as text."""
        weights = f"{self.vectors} vectors of {format_bytes(FLOAT_BYTES * self.size.weights)}"
        parts = [weights, *([f"buffers {format_bytes(self.size.buffer_bytes)}"] if self.size.buffer_bytes else [])]
        center = f" + {self.center} vectors of the center" if self.center else ""
        one = f"({' + '.join([*parts, f'data {format_bytes(self.data_bytes)}'])})"
        return f"{replicas} x {one}{center} = {format_bytes(self.total_bytes(replicas))}"


def replica_of(run: "RunSpec") -> ReplicaMemory | None:
    """Return the memory of a replica at the largest batch; None if it is not known, or if ranks share replicas."""
    optimizer, data = run.optimizer, run.data
    if isinstance(optimizer, ImportedOptimizer) or isinstance(data, ImportedData) or run.tensor:
        return None
    if (size := model_size_of(run.model, data)) is None:
        return None
    world = run.resources.world
    share = max(stage.batch for stage in run.batch_schedule.stages) // world
    own, center = count_vectors(run.rule, optimizer, world=world, averages=run.ema_decay is not None)
    return ReplicaMemory(size, own, center, data_memory_bytes(data, min(share, run.micro_batch or share)))


def check_memory(many_core: ManyCore, replica: ReplicaMemory) -> ValidationIssue | None:
    """Return an issue if the parts of a chip exceed its fast memory; None if they fit or its size is not known."""
    fast = many_core.fast_gib
    if fast is None or replica.total_bytes(many_core.parts) <= fast * GIB:
        return None
    message = f"{many_core.parts} parts do not fit {fast:g} GiB of fast memory: {replica.describe(many_core.parts)}"
    return ValidationIssue(path="many_core.parts", message=message)


def count_vectors(rule: Rule, optimizer: EngineOptimizer, *, world: int, averages: bool) -> tuple[int, int]:
    """Return the number of vectors of weight length per replica, and the additional number at rank 0."""
    own = 2 + averages  # weights and gradients
    others = world - 1
    match rule:
        case Sync():
            return own + _state(optimizer) + (world > 1), 0  # one more for the packed gradients
        case EASGD(is_served=True):
            # per replica: message, answer, pull; at rank 0: the center and two vectors per worker
            return own + _state(optimizer) + 3, 1 + 2 * others
        case EASGD():
            return own + _state(optimizer) + 3, 0  # the center, the pull and their sum
        case AsyncSGD():
            # per replica: packed gradients, message, answer; at rank 0: weights, velocity and two vectors per worker
            return own + 3, 2 + 2 * others
        case _:
            assert_never(rule)


def _state(optimizer: EngineOptimizer) -> int:
    match optimizer:
        case SGD(momentum=momentum):
            return int(momentum > 0)
        case LARS():
            return 1
        case LAMB() | Adam() | AdamW():
            return 2
        case _:
            assert_never(optimizer)


def data_memory_bytes(data: EngineData, batch: int) -> int:
    """Return the bytes of a replica's data set and of a batch of `batch` samples, without encoded images."""
    samples = data.train_samples + data.heldout_samples
    match data:
        case Digits():
            return (samples + batch) * (FLOAT_BYTES * prod(data.shape) + LABEL_BYTES)
        case Bodies():  # drawn for each batch, with a class for each voxel
            return batch * prod(data.shape) * (FLOAT_BYTES + LABEL_BYTES)
        case Glyphs():
            return samples * (prod(data.shape) + LABEL_BYTES) + _images(data.shape, batch)
        case Synthetic():
            source = TAPE - 1 + prod(data.shape) + data.classes * data.channels * PATTERN
            return FLOAT_BYTES * source + _images(data.shape, batch)
        case Folder() | Shards():
            return LABEL_BYTES * samples + _images(data.shape, batch)
        case Reversal() | Pairs():
            # source, decoder input and decoder target, each of max_length + 1 words
            return 3 * WORD_BYTES * (data.max_length + 1) * (samples + batch)
        case Text(context=context):
            return samples * (context + 1) + 2 * WORD_BYTES * context * batch
        case _:
            assert_never(data)


def _images(shape: tuple[int, int, int], batch: int) -> int:
    return batch * (FLOAT_BYTES * prod(shape) + LABEL_BYTES)


def format_bytes(size_bytes: float) -> str:
    """Return bytes with three digits and a binary unit, such as 249 MiB."""
    for unit, name in ((GIB, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= unit:
            return (
                f"{size_bytes / unit:.3g} {name}" if size_bytes < 999.5 * unit else f"{size_bytes / unit:,.0f} {name}"
            )
    return f"{size_bytes:g} B"
