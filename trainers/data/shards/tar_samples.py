"""The samples of one tar file: an image and its class, as WebDataset stores them.

Files that have the same name up to the first dot are one sample: NAME.jpg (or .jpeg, .png, .ppm) has the image, and
NAME.cls the number of its class as text. Other files of a sample are skipped.
"""

import tarfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from trainers.data.shards.shard_error import ShardError

IMAGE_ENDINGS = ("jpg", "jpeg", "png", "ppm")
CLASS_ENDING = "cls"


@dataclass(frozen=True)
class TarSample:
    """Where the bytes of an image are in a tar file, and its class."""

    key: str
    offset: int
    length: int
    label: int


@dataclass
class _Found:
    image: tuple[int, int] | None = None  # offset and length
    label: int | None = None
    endings: list[str] = field(default_factory=list)


def read_tar(path: Path) -> list[TarSample]:
    """Return the samples in the order of the file; raise ShardError if the file is torn or a sample incomplete."""
    found: dict[str, _Found] = {}
    try:
        with tarfile.open(path, "r:") as tar:
            for member in tar:
                if member.isfile():
                    _add(found, tar, member, path)
    except (tarfile.TarError, OSError) as error:
        raise ShardError(f"{path} is no whole tar file: {error}") from error
    return [_make_sample(key, parts, path) for key, parts in found.items()]


def _add(found: dict[str, _Found], tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    name = PurePosixPath(member.name)
    stem, _, ending = name.name.partition(".")
    ending = ending.lower()
    sample = found.setdefault(str(name.with_name(stem)), _Found())
    if ending in sample.endings:
        raise ShardError(f"{path} has {member.name} twice")
    sample.endings.append(ending)
    if ending in IMAGE_ENDINGS:
        if sample.image is not None:
            raise ShardError(f"{path} has two images of one sample: {member.name} is the second")
        sample.image = member.offset_data, member.size
    elif ending == CLASS_ENDING:
        file = tar.extractfile(member)
        assert file is not None  # only of files
        text = file.read()
        if not text.strip().isdigit():
            raise ShardError(f"{member.name} in {path} is no class number but {text[:20]!r}")
        sample.label = int(text)


def _make_sample(key: str, parts: _Found, path: Path) -> TarSample:
    if parts.image is None:
        raise ShardError(f"{path}: sample {key} has no image (.{', .'.join(IMAGE_ENDINGS)})")
    if parts.label is None:
        raise ShardError(f"{path}: sample {key} has no {key}.{CLASS_ENDING} with the number of its class")
    return TarSample(key, *parts.image, parts.label)
