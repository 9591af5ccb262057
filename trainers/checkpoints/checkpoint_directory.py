"""CheckpointDirectory: the folder of a run's checkpoints: list, read and write them, and delete the oldest."""

import hashlib
import io
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import torch

from trainers.checkpoints.durable_file import FileChecksum, read_whole, sync_folder, write_durably

MANIFEST = "manifest.json"
SHARED = "shared.pt"
NAME = re.compile(r"step-(\d{10})-attempt-(\d+)")
UNSUPPORTED = re.compile(r"(?:GLOBAL|but got) (?:<class ')?([\w.]+)")  # in torch's message
PartState = dict[str, Any]  # of tensors, numbers, strings, and lists, tuples and dictionaries of them


class DamagedCheckpoint(Exception):
    """A checkpoint differs from what was written, or is not finite; the message says which file and how."""


class UnloadableCheckpoint(ValueError):
    """A checkpoint is as it was written, and holds what no checkpoint may hold; the message says what."""


@dataclass(frozen=True)
class Manifest:
    """The parts of a checkpoint, with their checksums."""

    step: int
    attempt: int
    world: int
    about: Mapping[str, Any]  # describes the run of the checkpoint
    parts: Mapping[str, FileChecksum]

    @property
    def size_bytes(self) -> int:
        """The size of all parts together."""
        return sum(part.size_bytes for part in self.parts.values())


class CheckpointDirectory:
    """The checkpoints in one folder, of which the last `retained` complete ones are retained."""

    def __init__(self, path: Path, *, retained: int) -> None:
        self._path, self._retained = path, retained

    def folder(self, step: int, attempt: int) -> Path:
        """Return the folder of one checkpoint."""
        return self._path / f"step-{step:010}-attempt-{attempt}"

    def list_complete(self) -> list[str]:
        """Return the names of the checkpoints that have a manifest, newest first."""
        if not self._path.is_dir():
            return []
        named = [(match, path) for path in self._path.iterdir() if (match := NAME.fullmatch(path.name))]
        complete = [(int(match[1]), int(match[2]), path.name) for match, path in named if (path / MANIFEST).exists()]
        return [name for _, _, name in sorted(complete, reverse=True)]

    def write_part(self, step: int, attempt: int, name: str, state: PartState) -> FileChecksum:
        """Write one part and return its checksum; raise OSError if it cannot be written."""
        folder = self.folder(step, attempt)
        folder.mkdir(parents=True, exist_ok=True)
        return write_durably(folder / name, lambda file: torch.save(state, cast(IO[bytes], file)))

    def write_manifest(self, manifest: Manifest) -> None:
        """Complete a checkpoint whose parts are all on disk, and delete the checkpoints that are not retained."""
        folder = self.folder(manifest.step, manifest.attempt)
        sync_folder(self._path)
        text = _serialize(manifest)
        write_durably(folder / MANIFEST, lambda file: file.write(text))
        self._delete_old(manifest)

    def delete(self, step: int, attempt: int) -> None:
        """Delete a checkpoint that is not complete."""
        shutil.rmtree(self.folder(step, attempt), ignore_errors=True)

    def mark_damaged(self, name: str) -> None:
        """Rename a damaged checkpoint, so that it is ignored now and deleted with the old ones."""
        (self._path / name).rename(self._path / f"damaged-{name}")

    def read_manifest(self, name: str) -> Manifest:
        """Read a checkpoint's manifest; raise DamagedCheckpoint if it differs from what was written."""
        return self.parse_manifest(name, self.read_bytes(name, MANIFEST))

    def read_bytes(self, name: str, part: str) -> bytes:
        """Return the bytes of a file of a checkpoint, unchecked; raise DamagedCheckpoint if it cannot be read."""
        try:
            return (self._path / name / part).read_bytes()
        except OSError as error:
            raise DamagedCheckpoint(f"{name}/{part}: {error}") from error

    def parse_manifest(self, name: str, data: bytes) -> Manifest:
        """Return the manifest in a file's bytes; raise DamagedCheckpoint if it differs from what was written."""
        try:
            content = json.loads(data)
            if content.pop("sha256") != _digest(content):
                raise DamagedCheckpoint(f"{name}/{MANIFEST}: its checksum differs")
            parts = {part: FileChecksum(*checksum) for part, checksum in content.pop("parts").items()}
            return Manifest(**content, parts=parts)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedCheckpoint(f"{name}/{MANIFEST}: {error or type(error).__name__}") from error

    def read_part(self, name: str, manifest: Manifest, part: str) -> PartState:
        """Read one part onto the CPU; raise DamagedCheckpoint if it differs from what was written.

        Raise UnloadableCheckpoint if it holds what cannot be read back.
        """
        return load_part(self.read_checked(name, manifest, part), f"{name}/{part}")

    def read_checked(self, name: str, manifest: Manifest, part: str) -> io.BytesIO:
        """Return the bytes of one part; raise DamagedCheckpoint if they differ from what was written."""
        path, expected = self._path / name / part, manifest.parts.get(part)
        if expected is None:
            raise DamagedCheckpoint(f"{name}: there is no {part} in it")
        try:
            content, found = read_whole(path)
            if found.size_bytes != expected.size_bytes:
                raise DamagedCheckpoint(f"{name}/{part}: {found.size_bytes:,} of {expected.size_bytes:,} bytes")
            if found != expected:
                raise DamagedCheckpoint(f"{name}/{part}: its checksum differs")
        except OSError as error:
            raise DamagedCheckpoint(f"{name}/{part}: {error.strerror or error}") from error
        return content

    def _delete_old(self, written: Manifest) -> None:
        """Delete what is not retained, except the next checkpoint: other ranks may write their parts of it already."""
        retained = self.list_complete()[: self._retained]
        for path in self._path.iterdir():
            match = NAME.fullmatch(path.name)
            is_next = match is not None and int(match[2]) == written.attempt and int(match[1]) > written.step
            if path.name not in retained and not is_next:
                shutil.rmtree(path, ignore_errors=True)


def rank_part(rank: int) -> str:
    """Return the name of a rank's part."""
    return f"rank-{rank}.pt"


def load_part(content: IO[bytes], path: str) -> PartState:
    """Return the state in a part's bytes, on the CPU; raise UnloadableCheckpoint if it cannot be read back."""
    try:
        state: PartState = torch.load(content, map_location="cpu", weights_only=True)
    except Exception as error:
        if type(error).__name__ != "UnpicklingError":  # of pickle, which no rank imports
            raise
        # without torch's text, which advises to load the file in a way that would run its code
        found = UNSUPPORTED.search(str(error))
        what = f"it holds {found[1]}" if found else "it holds a type that is not allowed"
        raise UnloadableCheckpoint(
            f"{path} cannot be loaded: {what}, which a checkpoint cannot hold and which an earlier version stored; "
            "repair the optimizer's options and state, and submit the run anew"
        ) from None
    return state


def _serialize(manifest: Manifest) -> bytes:
    numbers = {"step": manifest.step, "attempt": manifest.attempt, "world": manifest.world}
    content: dict[str, Any] = {**numbers, "about": dict(manifest.about), "parts": dict(manifest.parts)}
    return json.dumps({**content, "sha256": _digest(content)}, indent=1).encode()


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
