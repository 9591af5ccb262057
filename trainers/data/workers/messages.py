"""Messages between a rank and its worker processes, pickled so that a large constant part travels once.

A split changes with every epoch, but its list of files or its data set does not. The rank sends such a part before the
first split that contains it, and a reference afterwards.
"""

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch.multiprocessing  # noqa: F401  # registers how tensors travel in shared memory
from numpy.typing import NDArray

from trainers.data.split import Batch, Split


@runtime_checkable
class HasConstants(Protocol):
    """A split with parts that are the same objects in every epoch."""

    @property
    def constants(self) -> tuple[object, ...]:
        """Return these parts."""
        ...


@dataclass(frozen=True)
class Constant:
    """A part of later splits; later messages refer to it by its key."""

    key: int
    part: object


@dataclass(frozen=True)
class OpenSplit:
    """A split from which batches of a stream are loaded."""

    stream: int
    split: Split


@dataclass(frozen=True)
class CloseStream:
    """No more batches of a stream are needed."""

    stream: int


@dataclass(frozen=True)
class LoadBatch:
    """The samples of one batch."""

    number: int
    stream: int
    index_B: NDArray[np.int64]


@dataclass(frozen=True)
class Failure:
    """An exception that a batch raised, with the worker's traceback."""

    error: Exception
    trace: str


@dataclass(frozen=True)
class Loaded:
    """A batch, or why there is none; None if its stream was closed meanwhile."""

    number: int
    batch: Batch | Failure | None


Request = Constant | OpenSplit | CloseStream | LoadBatch


def encode(message: Request, keys: Mapping[int, int]) -> memoryview:
    """Return the message as bytes; `keys`: the key of every constant part by the id of its object."""
    buffer = io.BytesIO()
    _Pickler(buffer, keys if not isinstance(message, Constant) else {}).dump(message)
    return buffer.getbuffer()


def decode(content: bytes, constants: Mapping[int, object]) -> Request:
    """Return the message; `constants`: the parts by their keys."""
    message: Request = _Unpickler(io.BytesIO(content), constants).load()
    return message


class _Pickler(ForkingPickler):
    def __init__(self, buffer: io.BytesIO, keys: Mapping[int, int]) -> None:
        super().__init__(buffer)
        self._keys = keys

    def persistent_id(self, part: Any) -> int | None:
        return self._keys.get(id(part))


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, constants: Mapping[int, object]) -> None:
        super().__init__(buffer)
        self._constants = constants

    def persistent_load(self, key: Any) -> object:
        return self._constants[key]
