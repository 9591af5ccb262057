"""Write the images of a folder into tar files, several at once, and then the index.

The files of a split have its images in a fixed random order, so tools that read tar files one after the other, such as
WebDataset, get mixed classes. The name of an image in the tar file is its number in the folder.
"""

import io
import sys
import tarfile
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import Tensor

from trainers.checkpoints.durable_file import HashingWriter, write_durably
from trainers.data.images.decoder import UNREADABLE
from trainers.data.images.image_folder import ImageList, list_images
from trainers.data.sampler import permutation
from trainers.data.shards.conversion import Conversion
from trainers.data.shards.shard_error import ShardError
from trainers.data.shards.shard_index import INDEX, SPLITS, IndexedTar, write_index
from trainers.data.shards.tar_samples import read_tar

TAR_NAME = "{:05}.tar"
OWN_TARS = ("[0-9]" * 5 + ".tar", ".*.tar.draft")  # of a conversion that did not end


@dataclass(frozen=True)
class Part:
    """The images of one tar file."""

    path: Path
    images: ImageList
    number_S: Tensor  # of the images in their split
    conversion: Conversion


@dataclass(frozen=True)
class Written:
    """A tar file, and the images in it that could not be decoded and are stored unchanged."""

    tar: IndexedTar
    undecodable: list[str]


def write_shards(
    folder: Path, out: Path, conversion: Conversion, *, heldout_samples: int | None, per_tar: int, processes: int
) -> None:
    """Write the shards of an image folder; raise ShardError if `out` has complete shards already."""
    train, heldout, _ = list_images(folder, heldout_samples=heldout_samples)
    _make_room(out)
    tars: dict[str, list[IndexedTar]] = {split: [] for split in SPLITS}
    parts = [*_cut(train, out / SPLITS[0], conversion, per_tar), *_cut(heldout, out / SPLITS[1], conversion, per_tar)]
    # no fork, because threads of torch may hold locks
    with ProcessPoolExecutor(processes, mp_context=get_context("forkserver")) as pool:
        futures = [pool.submit(_write_part, part) for part in parts]
        for written in _results(futures):
            tars[Path(written.tar.name).parent.name].append(written.tar)
            _report(out, written)
    write_index(out, {split: sorted(made, key=lambda tar: tar.name) for split, made in tars.items()})


def _make_room(out: Path) -> None:
    """Create the folders; delete what a conversion left behind that did not end."""
    if (out / INDEX).exists():
        raise ShardError(f"{out} has complete shards already: choose another folder, or remove this one first")
    for split in SPLITS:
        (out / split).mkdir(parents=True, exist_ok=True)
        for pattern in OWN_TARS:
            for leftover in (out / split).glob(pattern):
                leftover.unlink()
        if others := sorted((out / split).glob("*.tar")):
            raise ShardError(f"{others[0]} is not of this command: choose an empty folder")


def _cut(images: ImageList, folder: Path, conversion: Conversion, per_tar: int) -> Iterator[Part]:
    for number, number_S in enumerate(torch.split(permutation(len(images), seed=0, epoch=0), per_tar)):
        yield Part(folder / TAR_NAME.format(number), images.select(number_S), number_S, conversion)


def _results(futures: list[Future[Written]]) -> Iterator[Written]:
    """Yield the results as they come; after an error start no further part."""
    try:
        for future in as_completed(futures):
            yield future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _write_part(part: Part) -> Written:
    torch.set_num_threads(1)  # each process has a core
    undecodable: list[str] = []

    def save(file: HashingWriter) -> None:
        # a stream is written alone, but the type of `fileobj` has reading and seeking, too
        with tarfile.open(fileobj=file, mode="w|", format=tarfile.USTAR_FORMAT) as tar:  # type: ignore[call-overload]
            for place, number in enumerate(part.number_S.tolist()):
                content, ending = _convert(part, place, undecodable)
                _add(tar, f"{number:08}.{ending}", content)
                _add(tar, f"{number:08}.cls", str(int(part.images.labels[place])).encode())

    checksum = write_durably(part.path, save)
    name = f"{part.path.parent.name}/{part.path.name}"
    return Written(IndexedTar(name, *checksum, read_tar(part.path)), undecodable)


def _convert(part: Part, place: int, undecodable: list[str]) -> tuple[bytes, str]:
    path = part.images.path(place)
    content, ending = part.images.read(place), path.suffix.lower().removeprefix(".").replace("jpeg", "jpg")
    # the places are in random order, so the first ones are as good a choice as any
    as_pixels = place < part.conversion.pixels * len(part.images)
    try:
        return part.conversion(content, ending, as_pixels=as_pixels)
    except UNREADABLE as error:
        undecodable.append(f"{path} cannot be decoded ({error})")
        return content, ending


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def _report(out: Path, written: Written) -> None:
    tar = written.tar
    print(f"{out / tar.name}: {len(tar.samples)} images, {tar.size_bytes / 1e6:.1f} MB", file=sys.stderr)
    for line in written.undecodable:
        print(f"{line}; it is stored unchanged, and a run counts it as a bad image", file=sys.stderr)
