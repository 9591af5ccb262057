"""CheckpointWriter: save a checkpoint while training continues.

Every rank writes its part from a thread; rank 0 writes the manifest when all parts are on disk. The ranks report their
parts through a store of torch.distributed and not through the folder, because a shared file system may show files late.
"""

import json
import threading
import time
from collections.abc import Callable, Collection, Iterator
from copy import deepcopy
from typing import Any

from torch import Tensor
from torch.distributed import Store  # type: ignore[attr-defined]  # not in torch's __all__

from trainers.checkpoints.checkpoint_directory import SHARED, CheckpointDirectory, Manifest, PartState, rank_part
from trainers.checkpoints.durable_file import FileChecksum
from trainers.checkpoints.save_result import SaveResult

PART_TIMEOUT_S = 1800.0  # for the slowest rank to write its part
POLL_S = 0.02


class CheckpointWriter:
    """Writes one rank's part of every checkpoint, one checkpoint at a time.

    `departed_ranks` returns the ranks that save no more, if the run can continue without them. With it, a checkpoint
    may also lack the parts of ranks that are late.
    """

    def __init__(
        self,
        directory: CheckpointDirectory,
        store: Store,
        *,
        rank: int,
        world: int,
        attempt: int,
        about: dict[str, Any],
        departed_ranks: Callable[[], Collection[int]] | None = None,
    ) -> None:
        self._directory, self._store = directory, store
        self._rank, self._world, self._attempt, self._about = rank, world, attempt, about
        self._departed_ranks, self.timeout_s = departed_ranks, PART_TIMEOUT_S
        self._thread: threading.Thread | None = None
        self._result: SaveResult | None = None

    @property
    def is_busy(self) -> bool:
        """Whether the last part, or on rank 0 the last checkpoint, is still being written."""
        return self._thread is not None and self._thread.is_alive()

    def save(self, step: int, shared: PartState, rank_state: PartState) -> None:
        """Copy this rank's state, and write the copy from a thread; only rank 0 uses `shared`."""
        self.wait()
        start = time.perf_counter()
        parts = {SHARED: copy_state(shared)} if self._rank == 0 else {}
        parts[rank_part(self._rank)] = copy_state(rank_state)
        stall_s = time.perf_counter() - start
        self._thread = threading.Thread(target=self._write, args=(step, parts, start, stall_s), name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Wait until this rank's part is written; on rank 0, until the checkpoint is complete or has failed."""
        if self._thread is not None:
            self._thread.join()

    def take_result(self) -> SaveResult | None:
        """Return the result of the last save on rank 0, once; None if there is none yet."""
        if self.is_busy:
            return None
        result, self._result = self._result, None
        return result

    def _write(self, step: int, parts: dict[str, PartState], start: float, stall_s: float) -> None:
        try:
            sums = {name: self._directory.write_part(step, self._attempt, name, state) for name, state in parts.items()}
            message: dict[str, Any] = {"parts": sums}
        except Exception as error:  # reported to rank 0: a run must not end because it cannot be saved
            message = {"error": f"rank {self._rank}: {error}"}
        if self._rank:
            self._store.set(self._key(step, self._rank), json.dumps(message))
            return
        error_text, size_bytes = self._complete(step, message)
        self._result = SaveResult(step, stall_s, time.perf_counter() - start, size_bytes, error_text)

    def _complete(self, step: int, own_message: dict[str, Any]) -> tuple[str | None, int]:
        """Write the manifest when every rank's part is on disk; return the error, if any, and the total size."""
        try:
            messages = [own_message, *self._receive_messages(step)]
            if errors := [message["error"] for message in messages if "error" in message]:
                raise OSError(errors[0])
            parts = {name: FileChecksum(*sum_) for message in messages for name, sum_ in message["parts"].items()}
            manifest = Manifest(step, self._attempt, self._world, self._about, parts)
            self._directory.write_manifest(manifest)
        except Exception as error:
            self._directory.delete(step, self._attempt)
            return str(error), 0
        return None, manifest.size_bytes

    def _receive_messages(self, step: int) -> list[dict[str, Any]]:
        start = time.monotonic()
        # poll, because `wait` would block the store's only connection
        while (keys := self._expected_keys(step)) and not self._store.check(keys):
            if time.monotonic() - start > self.timeout_s:
                if self._departed_ranks is not None:
                    break
                raise TimeoutError(f"not every rank has written its part within {self.timeout_s:g} s")
            time.sleep(POLL_S)
        keys = [self._key(step, rank) for rank in range(1, self._world)]
        if self._departed_ranks is not None:
            keys = [key for key in keys if self._store.check([key])]
        messages = [json.loads(self._store.get(key)) for key in keys]
        for key in keys:
            self._store.delete_key(key)
        return messages

    def _expected_keys(self, step: int) -> list[str]:
        departed = self._departed_ranks() if self._departed_ranks is not None else ()
        return [self._key(step, rank) for rank in range(1, self._world) if rank not in departed]

    def _key(self, step: int, rank: int) -> str:
        return f"checkpoint/{step}/{rank}"


def copy_state(state: Any) -> Any:
    """Return the same containers, of the same types, with a copy of every tensor on the CPU.

    What stands in several places, such as a count that all parameters share, is one object in the copy too.
    """
    return deepcopy(state, {id(x): _copy(x) for x in _tensors(state, set())})


def _tensors(state: Any, seen: set[int]) -> Iterator[Tensor]:
    if id(state) in seen:
        return
    seen.add(id(state))
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, dict | list | tuple | set):
        for value in state.values() if isinstance(state, dict) else state:
            yield from _tensors(value, seen)


def _copy(x: Tensor) -> Tensor:
    # clone() keeps a view's strides but drops the rest of its storage
    return x.detach().clone() if x.device.type == "cpu" else x.detach().to("cpu")
