"""JobFolder: one run's files as its job reads and writes them; contract/folder/run_folder.py is for the service.

The program may replace its files by links, FIFOs and huge files: none is followed, waited for or read beyond a limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import claim, exit_status, names, whole_file
from .regular_file import read_bytes, read_text

MAX_BYTES = 1 << 20  # of a file in `attempts`, which the program can replace
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class JobFolder:
    """One run's folder at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.attempts = path / names.ATTEMPTS

    @property
    def events(self) -> Path:
        """The file of events."""
        return self.path / names.EVENTS

    @property
    def log(self) -> Path:
        """The file with the output of all ranks."""
        return self.path / names.LOG

    def claim(self, attempt: int, job: str) -> str:
        """Claim `attempt` for `job` unless another job holds the attempt; return the job that holds the attempt."""
        if self.write_exclusive(names.name_of(attempt, names.CLAIM), claim.text_of(job)):
            return job
        return claim.await_holder(lambda: self.read_claim(attempt), lambda: self._is_lost(attempt), claim.VISIBLE_S)

    def read_claim(self, attempt: int) -> str | None:
        """Return the job that holds `attempt`; None without a claim, UNREADABLE for a claim that cannot be read."""
        try:
            return claim.holder_in(read_bytes(self.attempts / names.name_of(attempt, names.CLAIM), claim.MAX_BYTES))
        except FileNotFoundError:
            return None
        except OSError:
            return claim.UNREADABLE

    def latest_attempt(self) -> int:
        """Return the number of the highest claimed attempt; 0 without one."""
        return names.latest_attempt(os.listdir(self.attempts))

    def write_second_start(self, attempt: int, job: str) -> None:
        """Record that the cluster started the attempt's job again."""
        self.write(names.name_of(attempt, names.AGAIN), job)

    def write_heartbeat(self, attempt: int) -> None:
        """Renew the attempt's heartbeat."""
        self.touch(names.name_of(attempt, names.BEAT))

    def touch(self, name: str) -> None:
        """Renew the modification time of a file in `attempts`, or create the file."""
        with _opened(self.attempts, os.O_NOFOLLOW) as parent:
            whole_file.touch(parent, name)

    def read_end_request(self, attempt: int) -> str | None:
        """Return the request to end an attempt in a shared job: TERM (save and end), KILL (end at once), or None."""
        return self.read(names.name_of(attempt, names.REQUEST))

    def write_part_exit(self, attempt: int, status: int) -> None:
        """Store the exit status of an attempt in a shared job, unless one is stored."""
        self.write_exclusive(names.name_of(attempt, names.EXIT), str(status))

    def read_part_exit(self, attempt: int) -> int | None:
        """Return the exit status of an attempt in a shared job, None before its end."""
        return exit_status.in_text(self.read(names.name_of(attempt, names.EXIT)) or "")

    def read(self, name: str) -> str | None:
        """Return the text of a file in `attempts`; None if it cannot be read, or is a link, a FIFO or too large."""
        try:
            return read_text(self.attempts / name, MAX_BYTES)
        except (OSError, UnicodeDecodeError):
            return None

    def write(self, name: str, text: str, *, mode: int = 0o666) -> None:
        """Create or replace a file in `attempts`: no reader sees a part of the text."""
        path = self.attempts / name
        with _opened(path.parent, os.O_NOFOLLOW) as parent:
            whole_file.replace(parent, path.name, text, mode=mode)

    def write_exclusive(self, name: str, text: str) -> bool:
        """Create a file in `attempts` with all its text, unless it exists; return whether this call created it."""
        with _opened(self.attempts, os.O_NOFOLLOW) as parent:
            return whole_file.create(parent, name, text)

    def _is_lost(self, attempt: int) -> bool:
        try:
            read_bytes(self.attempts / names.name_of(attempt, names.CLAIM), claim.MAX_BYTES)
        except OSError as error:
            return claim.is_for_ever(error)
        return False


def replace_file(path: Path, text: str) -> None:
    """Create or replace a file at once; the folder may be reached through a link."""
    with _opened(path.parent) as parent:
        whole_file.replace(parent, path.name, text)


@contextmanager
def _opened(folder: Path, flags: int = 0) -> Iterator[int]:
    descriptor = os.open(folder, _FOLDER | flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
