"""Saving beside training: every rank writes its part in a thread, rank 0 seals when all parts are on disk.

The ranks tell each other through a store (torch.distributed's), not through the folder: a shared file system may show
a file late.
"""

import json
import threading
import time
from collections.abc import Callable, Collection
from typing import Any

from torch.distributed import Store  # type: ignore[attr-defined]

from trainers.checkpoints.checkpoint_directory import SHARED, Manifest, Shelf, State, own
from trainers.checkpoints.durable_file import Sum
from trainers.checkpoints.save_result import Outcome
from trainers.checkpoints.state_copy import copied

PATIENCE_S = 1800.0  # for the slowest rank to write its part
POLL_S = 0.02


class Writer:
    """Writes one rank's part of every checkpoint, one checkpoint at a time.

    `left`: who takes no more part, where the others may go on without; a checkpoint may then lack whoever is late.
    """

    def __init__(
        self,
        shelf: Shelf,
        store: Store,
        *,
        rank: int,
        world: int,
        attempt: int,
        about: dict[str, Any],
        left: Callable[[], Collection[int]] | None = None,
    ) -> None:
        self._shelf, self._store = shelf, store
        self._rank, self._world, self._attempt, self._about = rank, world, attempt, about
        self._left, self.patience_s = left, PATIENCE_S
        self._thread: threading.Thread | None = None
        self._outcome: Outcome | None = None

    @property
    def is_busy(self) -> bool:
        """Whether the last checkpoint is not yet whole; rank 0 alone can tell of all ranks."""
        return self._thread is not None and self._thread.is_alive()

    def save(self, step: int, shared: State, alone: State) -> None:
        """Copy this rank's state and write it beside training; on ranks but the first, `shared` is not looked at."""
        self.wait()
        begun = time.perf_counter()
        parts = {SHARED: copied(shared)} if self._rank == 0 else {}
        parts[own(self._rank)] = copied(alone)
        stall_s = time.perf_counter() - begun
        self._thread = threading.Thread(target=self._write, args=(step, parts, begun, stall_s), name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Wait until this rank's part is written; on rank 0, until the checkpoint is whole or given up."""
        if self._thread is not None:
            self._thread.join()

    def outcome(self) -> Outcome | None:
        """What came of the last save, once, on rank 0."""
        if self.is_busy:
            return None
        outcome, self._outcome = self._outcome, None
        return outcome

    def _write(self, step: int, parts: dict[str, State], begun: float, stall_s: float) -> None:
        try:
            sums = {name: self._shelf.write_part(step, self._attempt, name, state) for name, state in parts.items()}
            word: dict[str, Any] = {"parts": sums}
        except Exception as error:  # told to rank 0: a run must not end because it could not be saved
            word = {"error": f"rank {self._rank}: {error}"}
        if self._rank:
            self._store.set(self._key(step, self._rank), json.dumps(word))
            return
        fault, size_bytes = self._seal(step, word)
        self._outcome = Outcome(step, stall_s, time.perf_counter() - begun, size_bytes, fault)

    def _seal(self, step: int, word: dict[str, Any]) -> tuple[str | None, int]:
        """Write the manifest when every rank has its part on disk; what went wrong, and the size of it all."""
        try:
            words = [word, *self._words_of_others(step)]
            if errors := [word["error"] for word in words if "error" in word]:
                raise OSError(errors[0])
            parts = {name: Sum(*sum_) for word in words for name, sum_ in word["parts"].items()}
            manifest = Manifest(step, self._attempt, self._world, self._about, parts)
            self._shelf.seal(manifest)
        except Exception as error:
            self._shelf.drop(step, self._attempt)
            return str(error), 0
        return None, manifest.size_bytes

    def _words_of_others(self, step: int) -> list[dict[str, Any]]:
        begun = time.monotonic()
        # asked again and again: a `wait` would hold the store's one connection
        while (keys := self._awaited(step)) and not self._store.check(keys):
            if time.monotonic() - begun > self.patience_s:
                if self._left is not None:
                    break
                raise TimeoutError(f"not every rank has written its part within {self.patience_s:g} s")
            time.sleep(POLL_S)
        keys = [self._key(step, rank) for rank in range(1, self._world)]
        if self._left is not None:
            keys = [key for key in keys if self._store.check([key])]
        words = [json.loads(self._store.get(key)) for key in keys]
        for key in keys:
            self._store.delete_key(key)
        return words

    def _awaited(self, step: int) -> list[str]:
        left = self._left() if self._left is not None else ()
        return [self._key(step, rank) for rank in range(1, self._world) if rank not in left]

    def _key(self, step: int, rank: int) -> str:
        return f"checkpoint/{step}/{rank}"
