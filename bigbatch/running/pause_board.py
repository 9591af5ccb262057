"""Where the ranks of an attempt read and write when they pause: torch's store, or files of the run folder.

Rank 0 alone decides: it writes the number of the call of `should_pause` after which all ranks pause. Another rank that
received a signal asks rank 0.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, Protocol

from bigbatch.running.environment import RunEnvironment

STORE_KEY = "bigbatch-pause"
MAX_DIGITS = 18


class Board(Protocol):
    """What one attempt's ranks share about a pause."""

    look_s: float  # seconds between two looks at it
    margin_s: float  # seconds after which every rank has seen what rank 0 wrote

    def ask(self) -> None:
        """Ask rank 0 for a pause."""

    def is_asked(self) -> bool:
        """Return whether a rank asked for a pause."""

    def decide(self, call: int) -> None:
        """Store the call after which all ranks pause; only rank 0 may do so."""

    def decision(self) -> int | None:
        """Return the call after which all ranks pause, None before rank 0 has decided."""


class StoreBoard:
    """Three counters in the store by which torch.distributed's processes have found each other."""

    look_s, margin_s = 0.1, 1.0

    def __init__(self, store: Any, prefix: str) -> None:
        self._store, self._prefix = store, f"{STORE_KEY}/{prefix}"

    def ask(self) -> None:
        """Ask rank 0 for a pause."""
        self._add("asked", 1)

    def is_asked(self) -> bool:
        """Return whether a rank asked for a pause."""
        return self._add("asked", 0) > 0

    def decide(self, call: int) -> None:
        """Store the call after which all ranks pause."""
        self._add("call", call)

    def decision(self) -> int | None:
        """Return the call after which all ranks pause, None before the decision."""
        return self._add("call", 0) or None

    def _add(self, name: str, amount: int) -> int:
        return int(self._store.add(f"{self._prefix}/{name}", amount))


class FileBoard:
    """Two files of the run folder.

    Rank 0 creates the file of the decision at its first call and fills it later: NFS shows a new content at each open,
    but may hide a new name for half a minute.
    """

    look_s, margin_s = 1.0, 5.0

    def __init__(self, environment: RunEnvironment) -> None:
        attempts = os.path.join(str(environment.folder), "attempts")
        self._decision = os.path.join(attempts, f"{environment.attempt}.pause")
        self._request = os.path.join(attempts, f"{environment.attempt}.pause-request")
        if environment.rank == 0:
            with suppress(OSError):
                _append(self._decision, b"")

    def ask(self) -> None:
        """Ask rank 0 for a pause."""
        _append(self._request, b"")

    def is_asked(self) -> bool:
        """Return whether a rank asked for a pause."""
        return os.path.exists(self._request)

    def decide(self, call: int) -> None:
        """Store the call after which all ranks pause."""
        _append(self._decision, b"%d\n" % call)

    def decision(self) -> int | None:
        """Return the call after which all ranks pause, None before the decision."""
        try:
            with open(self._decision, "rb") as file:
                line, end, _ = file.read(MAX_DIGITS + 2).partition(b"\n")
        except OSError:
            return None
        return int(line) if end and line.isdigit() else None


def find_board(environment: RunEnvironment) -> Board:
    """Return torch's store if the program has initialized torch.distributed, else the files of the run folder."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        with suppress(Exception):  # of a torch that has no such function
            store = distributed.distributed_c10d._get_default_store()
            return StoreBoard(store, f"{environment.attempt}/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}")
    return FileBoard(environment)


def _append(path: str, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, content)
    finally:
        os.close(file)
