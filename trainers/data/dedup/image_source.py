"""The images in which duplicates are searched: those of a data set for training, or all image files below a folder.

The training images of an image folder or of shards have a class; the held-out images stay as they are. A folder without
class folders is a collection of files without classes.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trainers.data.images.image_folder import ENDINGS, TRAIN, has_classes, list_images
from trainers.data.images.image_list import name_of_file, names_of_shards
from trainers.data.shards.shard_index import INDEX, read_index


class Reader(Protocol):
    """Numbered encoded images."""

    def read(self, number: int) -> bytes:
        """Return the bytes of an image."""
        ...


@dataclass(frozen=True)
class ImageSource:
    """Numbered images; `kind` is that of the data set, or None for a collection that is none."""

    root: Path
    kind: str | None
    names: list[str]  # relative to the root; of an image in a tar file its split and key
    reader: Reader
    labels: list[int] | None
    heldout_samples: int = 0
    classes: int = 0

    def __len__(self) -> int:
        return len(self.names)


def open_source(root: Path, *, heldout_samples: int | None = None) -> ImageSource:
    """Return the images of a folder; raise ValueError or ShardError if it has none or is not whole."""
    if (root / INDEX).is_file():
        train, heldout, classes = read_index(root)
        names = names_of_shards(train)
        return ImageSource(root, "shards", names, train, train.labels.tolist(), len(heldout), classes)
    if not root.is_dir():
        raise ValueError(f"there is no folder {root}")
    if not has_classes(root):
        return _collection(root)
    files, held_out, named = list_images(root, heldout_samples=heldout_samples)
    paths = [name_of_file(files, root, number) for number in range(len(files))]
    return ImageSource(root, "folder", paths, files, files.labels.tolist(), len(held_out), len(named))


@dataclass(frozen=True)
class _Files:
    root: Path
    names: list[str]

    def read(self, number: int) -> bytes:
        """Return the bytes of a file."""
        return (self.root / self.names[number]).read_bytes()


def _collection(root: Path) -> ImageSource:
    names = sorted(
        os.path.relpath(os.path.join(folder, name), root)
        for folder, folders, files in os.walk(root)
        for name in files
        if name.lower().endswith(ENDINGS)
    )
    if not names:
        raise ValueError(f"{root} has no image ({', '.join(ENDINGS)}) and no folder {TRAIN}/ with classes")
    return ImageSource(root, None, names, _Files(root, names), None)
