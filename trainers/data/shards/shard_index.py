"""The index of a folder of shards: for every image its tar file, its offset, its length and its class.

    PATH/index.npz, PATH/train/*.tar, PATH/val/*.tar

The index is written last, so a folder without one is incomplete. It has the size and the SHA-256 of every tar file:
each rank compares the sizes when a run starts, and `check` the hashes. Samples are numbered by their keys in sorted
order, so a folder's images have the same numbers in its shards, whatever order the tar files have.
"""

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from trainers.checkpoints.durable_file import write_durably
from trainers.data.shards.shard_error import ShardError
from trainers.data.shards.sharded_images import ShardedImages
from trainers.data.shards.tar_samples import TarSample

INDEX, SPLITS = "index.npz", ("train", "val")
FORMAT = 1
Array = NDArray[Any]


@dataclass(frozen=True)
class IndexedTar:
    """A complete tar file, relative to the folder of the shards, and its samples."""

    name: str
    size_bytes: int
    sha256: str
    samples: Sequence[TarSample]


class ShardSet(NamedTuple):
    """What a folder of shards has."""

    train: ShardedImages
    heldout: ShardedImages
    classes: int


def write_index(root: Path, tars: dict[str, Sequence[IndexedTar]]) -> None:
    """Write the index of the tar files of each split."""
    arrays: dict[str, Array] = {"format": np.array(FORMAT)}
    for split, indexed in tars.items():
        arrays |= {f"{split}_{name}": array for name, array in _arrays(indexed, root / split).items()}
    arrays["classes"] = np.array(1 + max(int(arrays[f"{split}_label"].max()) for split in SPLITS))
    content = BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_durably(root / INDEX, lambda file: file.write(content.getvalue()))


def _arrays(tars: Sequence[IndexedTar], folder: Path) -> dict[str, Array]:
    samples = [(sample, number) for number, tar in enumerate(tars) for sample in tar.samples]
    if not samples:
        raise ShardError(f"{folder} has no tar file with a sample")
    samples.sort(key=lambda pair: pair[0].key)
    return {
        "tar_name": np.array([tar.name for tar in tars]),
        "tar_bytes": np.array([tar.size_bytes for tar in tars], dtype=np.int64),
        "tar_sha256": np.array([tar.sha256 for tar in tars]),
        "tar": np.array([number for _, number in samples], dtype=np.int32),
        "offset": np.array([sample.offset for sample, _ in samples], dtype=np.int64),
        "length": np.array([sample.length for sample, _ in samples], dtype=np.int64),
        "label": np.array([sample.label for sample, _ in samples], dtype=np.int64),
        "key": np.array([sample.key for sample, _ in samples]),
    }


def read_index(root: Path) -> ShardSet:
    """Return the images of a folder of shards; raise ShardError if the index or a tar file is missing or not whole."""
    arrays = _load(root)
    train, heldout = (_make_split(root, split, arrays) for split in SPLITS)
    classes = int(arrays["classes"])
    for images in (train, heldout):
        if len(images) and not 0 <= int(images.labels.min()) <= int(images.labels.max()) < classes:
            raise ShardError(f"{root / INDEX} has labels other than 0 to {classes - 1}: write the index again")
    return ShardSet(train, heldout, classes)


def check_hashes(root: Path) -> int:
    """Read every tar file and compare its hash with the index; return the number of files."""
    read_index(root)
    arrays, checked = _load(root), 0
    for split in SPLITS:
        names, hashes = (arrays[f"{split}_{name}"].tolist() for name in ("tar_name", "tar_sha256"))
        for name, expected in zip(names, hashes, strict=True):
            if hash_file(root / name) != expected:
                raise ShardError(f"{root / name} has other bytes than when its index was written")
            checked += 1
    return checked


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _load(root: Path) -> dict[str, Array]:
    path = root / INDEX
    try:
        with np.load(path, allow_pickle=False) as file:
            if int(file["format"]) != FORMAT:
                raise ShardError(f"{path} has format {int(file['format'])}, and this version reads format {FORMAT}")
            return {name: file[name] for name in file.files if not name.endswith("_key")}
    except FileNotFoundError:
        raise ShardError(
            f"{path} is missing: the shards are incomplete, since the index is written last "
            f"(python -m trainers.data.shards index {root} makes one for tar files of another tool)"
        ) from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ShardError(f"{path} cannot be read ({error}): write the shards or their index again") from error


def _make_split(root: Path, split: str, arrays: dict[str, Array]) -> ShardedImages:
    try:
        names, sizes = arrays[f"{split}_tar_name"].tolist(), arrays[f"{split}_tar_bytes"]
        tar_N, offset_N, length_N, label_N = (
            arrays[f"{split}_{name}"] for name in ("tar", "offset", "length", "label")
        )
    except KeyError as error:
        raise ShardError(f"{root / INDEX} has no array {error}: write the index again") from None
    _check_sizes(root, names, sizes.tolist())
    if (offset_N + length_N > sizes[tar_N]).any():
        raise ShardError(f"{root / INDEX} places images behind the end of their tar files: write the index again")
    keys = root / INDEX, f"{split}_key"
    return ShardedImages(root, tuple(names), tar_N, offset_N, length_N, torch.from_numpy(label_N), keys)


def _check_sizes(root: Path, names: Sequence[str], sizes: Sequence[int]) -> None:
    for name, expected in zip(names, sizes, strict=True):
        try:
            actual = (root / name).stat().st_size
        except OSError as error:
            raise ShardError(f"{root / name} cannot be read ({error.strerror}), and {root / INDEX} has it") from error
        if actual != expected:
            raise ShardError(f"{root / name} has {actual} bytes, and {root / INDEX} says {expected}: it is not whole")
