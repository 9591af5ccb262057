"""ShardedImages: the images of a split in tar files, each read by one call at its offset."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from trainers.data.shards.shard_error import ShardError

OPEN_FILES = 256  # of a process, far below the usual limit of 1,024


@dataclass(frozen=True)
class ShardedImages:
    """Numbered images: number n has length_N[n] bytes at offset_N[n] of the file tar_names[tar_N[n]]."""

    root: Path
    tar_names: tuple[str, ...]
    tar_N: NDArray[Any]
    offset_N: NDArray[Any]
    length_N: NDArray[Any]
    labels: Tensor  # y_N
    keys: tuple[Path, str]  # the file and the array that has the images' names, which few callers need
    number_M: NDArray[Any] | None = None  # of the selected images among those of the split; None: these are all

    def __len__(self) -> int:
        return len(self.labels)

    def read(self, number: int) -> bytes:
        """Return the bytes of an image; raise ShardError if its tar file does not have them any more."""
        path, length = self.root / self.tar_names[self.tar_N[number]], int(self.length_N[number])
        try:
            content = _open(path).read(length, int(self.offset_N[number]))
        except OSError as error:
            raise ShardError(f"{path} cannot be read ({error.strerror})") from error
        if len(content) < length:
            raise ShardError(f"{path} has become shorter since this run began: {self.path(number)} is not whole")
        return content

    def size(self, number: int) -> int:
        """Return the number of bytes of an image."""
        return int(self.length_N[number])

    def select(self, number_M: Tensor) -> "ShardedImages":
        """Return some of the images, numbered from 0."""
        assert self.number_M is None, "a selection is made of all images of a split"
        chosen_M = number_M.numpy()
        columns = self.tar_N[chosen_M], self.offset_N[chosen_M], self.length_N[chosen_M]
        return ShardedImages(self.root, self.tar_names, *columns, self.labels[number_M], self.keys, chosen_M)

    def path(self, number: int) -> str:
        """Return the tar file of an image and its name in there."""
        with np.load(self.keys[0], allow_pickle=False) as index:
            key = index[self.keys[1]][number if self.number_M is None else self.number_M[number]]
        return f"{self.root / self.tar_names[self.tar_N[number]]}:{key}"


class _OpenFile:
    """A file that is open until the last reference is gone: the cache's, or that of a thread that still reads."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, length: int, offset: int) -> bytes:
        """Return bytes of the file, fewer if it ends before."""
        return os.pread(self._descriptor, length, offset)

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)


@lru_cache(maxsize=OPEN_FILES)
def _open(path: Path) -> _OpenFile:
    return _OpenFile(path)
