"""Shards of a few small images for tests."""

from pathlib import Path

from trainers.data.memory_store.sample_store import Files
from trainers.data.shards.conversion import Conversion
from trainers.data.shards.write_shards import write_shards


def write(folder: Path, out: Path, conversion: Conversion | None = None) -> Path:
    """Write tar files of five images each; return their folder."""
    write_shards(folder, out, conversion or Conversion(), heldout_samples=None, per_tar=5, processes=1)
    return out


def contents(files: Files) -> list[tuple[bytes, int]]:
    """Return the bytes and the class of every image."""
    return [(files.read(number), int(label)) for number, label in enumerate(files.labels)]
