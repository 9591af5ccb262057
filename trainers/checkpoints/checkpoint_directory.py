"""The folder in which a run's checkpoints stand: found, read, and the oldest cleared away."""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import torch

from trainers.checkpoints import durable_file as durable
from trainers.checkpoints.durable_file import Sum

MANIFEST = "manifest.json"
SHARED = "shared.pt"
NAME = re.compile(r"step-(\d{10})-attempt-(\d+)")
State = dict[str, Any]  # tensors, numbers, strings, and lists, tuples and dictionaries of them


class Damaged(Exception):
    """A checkpoint is not what was written; the message says which file and how."""


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint consists of."""

    step: int
    attempt: int
    world: int
    about: Mapping[str, Any]  # what it is a checkpoint of
    parts: Mapping[str, Sum]

    @property
    def size_bytes(self) -> int:
        return sum(part.size_bytes for part in self.parts.values())


class Shelf:
    """Checkpoints below one folder; the last `keep` whole ones stay."""

    def __init__(self, path: Path, *, keep: int) -> None:
        self._path, self._keep = path, keep

    def folder(self, step: int, attempt: int) -> Path:
        return self._path / f"step-{step:010}-attempt-{attempt}"

    def names(self) -> list[str]:
        """The checkpoints that have a manifest, newest first."""
        if not self._path.is_dir():
            return []
        named = [(match, path) for path in self._path.iterdir() if (match := NAME.fullmatch(path.name))]
        whole = [(int(match[1]), int(match[2]), path.name) for match, path in named if (path / MANIFEST).exists()]
        return [name for _, _, name in sorted(whole, reverse=True)]

    def write_part(self, step: int, attempt: int, name: str, state: State) -> Sum:
        """Write one part; raise OSError when it cannot be written."""
        folder = self.folder(step, attempt)
        folder.mkdir(parents=True, exist_ok=True)
        return durable.write(folder / name, lambda file: torch.save(state, cast(IO[bytes], file)))

    def seal(self, manifest: Manifest) -> None:
        """Make a checkpoint of parts that are all on disk, and clear away what is no longer kept."""
        folder = self.folder(manifest.step, manifest.attempt)
        durable.sync_folder(self._path)
        text = _with_sum(manifest)
        durable.write(folder / MANIFEST, lambda file: file.write(text))
        self._clear()

    def drop(self, step: int, attempt: int) -> None:
        """Take away a checkpoint that did not become whole."""
        shutil.rmtree(self.folder(step, attempt), ignore_errors=True)

    def set_aside(self, name: str) -> None:
        """Keep a damaged checkpoint out of the way; it goes with the next clearing."""
        (self._path / name).rename(self._path / f"damaged-{name}")

    def manifest(self, name: str) -> Manifest:
        """Read a checkpoint's manifest; raise Damaged when it is not as it was written."""
        try:
            told = json.loads((self._path / name / MANIFEST).read_bytes())
            if told.pop("sha256") != _digest(told):
                raise Damaged(f"{name}/{MANIFEST}: its checksum differs")
            parts = {part: Sum(*sum_) for part, sum_ in told.pop("parts").items()}
            return Manifest(**told, parts=parts)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Damaged(f"{name}/{MANIFEST}: {error or type(error).__name__}") from error

    def read_part(self, name: str, manifest: Manifest, part: str) -> State:
        """Read one part onto the CPU; raise Damaged when it is not as it was written."""
        path, wanted = self._path / name / part, manifest.parts.get(part)
        if wanted is None:
            raise Damaged(f"{name}: there is no {part} in it")
        try:
            found = durable.sum_of(path)
            if found.size_bytes != wanted.size_bytes:
                raise Damaged(f"{name}/{part}: {found.size_bytes:,} of {wanted.size_bytes:,} bytes")
            if found != wanted:
                raise Damaged(f"{name}/{part}: its checksum differs")
            state: State = torch.load(path, map_location="cpu", weights_only=True)
        except OSError as error:
            raise Damaged(f"{name}/{part}: {error.strerror or error}") from error
        return state

    def _clear(self) -> None:
        kept = self.names()[: self._keep]
        for path in self._path.iterdir():
            if path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)


def own(rank: int) -> str:
    """The name of a rank's own part."""
    return f"rank-{rank}.pt"


def _with_sum(manifest: Manifest) -> bytes:
    told = {"step": manifest.step, "attempt": manifest.attempt, "world": manifest.world}
    whole: dict[str, Any] = {**told, "about": dict(manifest.about), "parts": dict(manifest.parts)}
    return json.dumps({**whole, "sha256": _digest(whole)}, indent=1).encode()


def _digest(whole: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
