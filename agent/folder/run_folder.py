"""RunFolder: the files of one run that the agent reads and writes; contract/folder/run_folder.py has the formats."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from secrets import token_hex
from typing import Any

from agent.folder.regular_file import read_text

CLAIM_VISIBLE_S = 10.0  # longest time for which a shared file system may hide an existing claim
MAX_BYTES = 1 << 20  # of a file in `attempts`, which the program can replace
UNREADABLE = "a job whose claim cannot be read"
CLAIM_NAME = re.compile(r"([0-9]{1,9})\.json")


class RunFolder:
    """One run's folder at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.attempts = path / "attempts"

    @property
    def events(self) -> Path:
        """The file of events."""
        return self.path / "events.jsonl"

    def read_spec(self) -> dict[str, Any]:
        """Return the spec; raise OSError or ValueError."""
        spec = json.loads((self.path / "spec.json").read_text(encoding="utf-8"))
        if not isinstance(spec, dict) or spec.get("kind") != "program":
            raise ValueError("the spec is not one of a program")
        return spec

    def has_spec(self) -> bool:
        """Return whether the scheduler's files are visible."""
        return self.attempts.exists() and (self.path / "spec.json").exists()

    def claim(self, attempt: int, job: str) -> str:
        """Claim `attempt` for `job` unless another job holds the attempt; return the job that holds the attempt."""
        if self.write_exclusive(f"{attempt}.json", json.dumps({"job": job})):
            return job
        until = time.monotonic() + CLAIM_VISIBLE_S
        while (holder := self.read_claim(attempt)) in (None, UNREADABLE) and time.monotonic() < until:
            time.sleep(0.1)
        return holder or UNREADABLE

    def read_claim(self, attempt: int) -> str | None:
        """Return the job that holds `attempt`; None without a claim, UNREADABLE for a claim that cannot be read."""
        try:
            holder = json.loads(read_text(self.attempts / f"{attempt}.json", MAX_BYTES))["job"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            return UNREADABLE
        return holder if isinstance(holder, str) and holder else UNREADABLE

    def latest_attempt(self) -> int:
        """Return the number of the highest claimed attempt; 0 without one."""
        names = os.listdir(self.attempts)
        return max((int(found[1]) for name in names if (found := CLAIM_NAME.fullmatch(name))), default=0)

    def read(self, name: str) -> str | None:
        """Return the text of a file in `attempts`; None if it cannot be read, or is a link, a FIFO or too large."""
        try:
            return read_text(self.attempts / name, MAX_BYTES)
        except (OSError, UnicodeDecodeError):
            return None

    def write(self, name: str, text: str, *, mode: int = 0o666) -> None:
        """Create or replace a file in `attempts`: no reader sees a part of the text."""
        replace_file(self.attempts / name, text, mode=mode)

    def write_exclusive(self, name: str, text: str) -> bool:
        """Create a file in `attempts` with all its text, unless it exists; return whether this call created it."""
        path = self.attempts / name
        draft = _write_draft(path, text, 0o666)
        try:  # a hard link is created at most once, also on NFS
            os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            os.unlink(draft)
        return True

    def touch(self, name: str) -> None:
        """Renew the modification time of a file in `attempts`, or create the file."""
        path = self.attempts / name
        try:
            os.utime(path)
        except FileNotFoundError:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666))


def replace_file(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Create or replace a file at once."""
    os.replace(_write_draft(path, text, mode), path)


def _write_draft(path: Path, text: str, mode: int) -> Path:
    """Write a hidden file beside `path`; the text is on the disk when this function returns."""
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft
