"""Image lists: the images of a data set that train, one line each, as `python -m trainers.data.dedup` writes them.

    HASH  PATH

PATH is relative to the folder of the data set; of an image in shards it is the split and the key. The hash is
hexadecimal digits without a space. Lines that begin with # are comments.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from trainers.checkpoints.durable_file import write_durably
from trainers.data.images.image_folder import ImageList
from trainers.data.shards.sharded_images import ShardedImages

SEPARATOR = "  "
Images = TypeVar("Images", ImageList, ShardedImages)


def write_image_list(path: Path, comment: str, lines: Iterable[tuple[str, str]]) -> None:
    """Write pairs of hash and name; raise ValueError for a name with a line break, which the list cannot have."""
    text = [f"# {comment}"]
    for digits, name in lines:
        if "\n" in name or "\r" in name:
            raise ValueError(f"the name {name!r} has a line break, so an image list cannot have it: rename the file")
        text.append(f"{digits}{SEPARATOR}{name}")
    content = os.fsencode("\n".join(text) + "\n")
    write_durably(path, lambda file: file.write(content))


def read_image_list(path: Path) -> set[str]:
    """Return the names of the listed images; raise ValueError if a line has another form."""
    names = set()
    for number, line in enumerate(os.fsdecode(path.read_bytes()).split("\n"), start=1):
        if not line or line.startswith("#"):
            continue
        digits, separator, name = line.partition(SEPARATOR)
        if not (digits and separator and name) or " " in digits:
            raise ValueError(f"line {number} of {path} is no hash, two spaces and a path, but {line[:80]!r}")
        names.add(name)
    return names


def select_listed(images: Images, root: Path, path: Path) -> Images:
    """Return the listed images; raise ValueError if the list names an image that is not among `images`."""
    listed = read_image_list(path)
    if isinstance(images, ShardedImages):
        names = names_of_shards(images)
    else:
        names = [name_of_file(images, root, number) for number in range(len(images))]
    number_M = np.array([number for number, name in enumerate(names) if name in listed], dtype=np.int64)
    if len(number_M) < len(listed):
        absent = sorted(listed.difference(names))
        more = f" and {len(absent) - 1:,} more" if len(absent) > 1 else ""
        raise ValueError(f"{path} lists {absent[0]}{more}, which {root} has not among its training images")
    return images.select(torch.from_numpy(number_M))


def name_of_file(images: ImageList, root: Path, number: int) -> str:
    """Return the path of an image relative to the folder of its data set."""
    return os.path.relpath(images.path(number), root)


def names_of_shards(images: ShardedImages) -> list[str]:
    """Return the split and the key of every image of one split."""
    index, array = images.keys
    split = array.removesuffix("_key")
    with np.load(index, allow_pickle=False) as file:
        key_N = file[array] if images.number_M is None else file[array][images.number_M]
    return [f"{split}/{key}" for key in key_N.tolist()]
