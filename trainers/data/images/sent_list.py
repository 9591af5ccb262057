"""The lists of an image folder, made by one rank and sent to all: a folder of a million files is scanned once."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist

from trainers.collectives.bytes_broadcast import SourceFailed, broadcast_bytes
from trainers.data.images.image_folder import ImageList


class FolderLists(NamedTuple):
    """The images of a folder that train, those that are held out, and the number of classes."""

    train: ImageList
    heldout: ImageList
    classes: int


def list_once(make: Callable[[], FolderLists]) -> FolderLists:
    """Return on every rank what `make` returns on rank 0; without a process group, what it returns here.

    All ranks call this together, and all raise ValueError with one message if `make` raises ValueError or OSError.
    """
    if not dist.is_initialized():
        return make()
    try:
        return _decode(broadcast_bytes(lambda: _encode(make)))
    except SourceFailed as failure:
        raise ValueError(str(failure)) from failure


def _encode(make: Callable[[], FolderLists]) -> io.BytesIO:
    try:
        lists = make()
    except (ValueError, OSError) as error:
        raise SourceFailed(str(error)) from error
    content = io.BytesIO()
    arrays = {"classes": np.array(lists.classes)}
    for name, images in (("train", lists.train), ("heldout", lists.heldout)):
        arrays |= {
            f"{name}_root": np.array(os.fsencode(images.root)),
            f"{name}_files": images.name_N,
            f"{name}_labels": images.labels.numpy(),
        }
    np.savez(content, allow_pickle=False, **arrays)
    return content


def _decode(content: io.BytesIO) -> FolderLists:
    with np.load(content, allow_pickle=False) as arrays:
        train, heldout = (
            ImageList(
                Path(os.fsdecode(bytes(arrays[f"{name}_root"]))),
                arrays[f"{name}_files"],
                torch.from_numpy(arrays[f"{name}_labels"]),
            )
            for name in ("train", "heldout")
        )
        return FolderLists(train, heldout, int(arrays["classes"]))
