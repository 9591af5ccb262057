"""TaskFolder: tasks that any number of workers lease from one folder, without a service, a port or equal clocks.

    STAGE/I.done        task I is done: its output is on the disk; never deleted
    STAGE/I.G.lease     a worker holds task I; G counts from 1, and the highest G holds
    STAGE/I.G.free      the holder gave the task back

A file is created at most once (a hard link, also on NFS), which is the only decision between workers: who creates
I.(G+1).lease takes the task over from the holder of I.G. A lease is over if its file was not touched for `lease_s` by
the clock of the worker that watches it, if it was given back, or if it is of an earlier attempt of the same run. A
worker that goes on after its lease is over does no harm, because a task has the same output whoever carries it out.
"""

import json
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from trainers.volume.stores.durable import write_once

NAME = re.compile(r"(\d{1,10})(?:\.(\d{1,6}))?\.(done|lease|free)")
LOOKS_PER_LEASE, FIRST_LOOK_S, SLOWEST_LOOK_S = 4, 0.02, 0.5


@dataclass(frozen=True)
class Worker:
    """Who leases: the run and its attempt, the rank, and how many workers began together."""

    run: str
    attempt: int = 1
    rank: int = 0
    world: int = 1


@dataclass(frozen=True)
class Lease:
    """A task that a worker holds."""

    stage: str
    index: int
    generation: int


class Looked(NamedTuple):
    """The tasks of a stage as a folder had them at one moment."""

    done: set[int]
    held: dict[int, int]  # the highest generation of each task that has a lease
    freed: set[tuple[int, int]]


class TaskFolder:
    """The tasks below `path`, as one worker sees them."""

    def __init__(
        self,
        path: Path,
        worker: Worker,
        *,
        lease_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._path, self._worker, self._lease_s, self._clock, self._sleep = path, worker, lease_s, clock, sleep
        self._seen: dict[Path, tuple[int, float]] = {}  # when each foreign lease was last seen to change
        self._ready: dict[str, deque[tuple[int, int]]] = {}
        self._earlier: dict[Path, bool] = {}
        self._claimed: Lease | None = None  # the last lease that this worker tried to take

    def take(self, stage: str, count: int, on_look: Callable[[], object] = lambda: None) -> Lease | None:
        """Wait for a task of a stage that nobody holds, and lease it; None as soon as all `count` tasks are done.

        `on_look` is called whenever the folder is looked at.
        """
        ready, pause_s = self._ready.setdefault(stage, deque()), FIRST_LOOK_S
        while True:
            while ready:
                index, generation = ready.popleft()
                if lease := self._claim(Lease(stage, index, generation)):
                    return lease
            looked = self.look(stage)
            on_look()
            if len(looked.done) >= count:
                return None
            ready.extend(self._free_tasks(stage, count, looked))
            if not ready:
                self._sleep(min(pause_s, self._lease_s / LOOKS_PER_LEASE, SLOWEST_LOOK_S))
                pause_s *= 2  # a stage may end at any moment, but long waits look rarely

    def finish(self, lease: Lease, seconds: float) -> bool:
        """Mark a task as done, after its output is on the disk; return whether no other worker had done so."""
        about = {**asdict(self._worker), "generation": lease.generation, "seconds": seconds}
        return write_once(self._path / lease.stage / f"{lease.index}.done", json.dumps(about).encode())

    def give_back(self, lease: Lease) -> None:
        """Let other workers take a task at once."""
        write_once(self._path / lease.stage / f"{lease.index}.{lease.generation}.free", b"", sync=False)

    def give_back_held(self) -> None:
        """Give the last leased task back, at any moment of `take` too: for a worker that ends in a signal's handler."""
        lease = self._claimed
        if lease is not None and read_worker(self._file(lease)) == self._worker:
            self.give_back(lease)

    def renew(self, lease: Lease) -> None:
        """Show that this worker still holds a task."""
        os.utime(self._file(lease))

    def is_mine(self, lease: Lease) -> bool:
        """Return whether no other worker has taken the task over."""
        return not self._file(replace(lease, generation=lease.generation + 1)).exists()

    def look(self, stage: str) -> Looked:
        """Return what the folder says of a stage."""
        done: set[int] = set()
        held: dict[int, int] = {}
        freed: set[tuple[int, int]] = set()
        for name in self._names(stage):
            if (found := NAME.fullmatch(name)) is None:
                continue
            index, generation = int(found[1]), int(found[2] or 0)
            match found[3]:
                case "done":
                    done.add(index)
                case "lease":
                    held[index] = max(held.get(index, 0), generation)
                case _:
                    freed.add((index, generation))
        return Looked(done, held, freed)

    def _names(self, stage: str) -> list[str]:
        try:
            return os.listdir(self._path / stage)
        except FileNotFoundError:
            return []

    def _free_tasks(self, stage: str, count: int, looked: Looked) -> list[tuple[int, int]]:
        """Return the tasks that may be leased, and with which generation; workers begin at different places."""
        start = self._worker.rank * count // self._worker.world
        found = []
        for step in range(count):
            index = (start + step) % count
            if index in looked.done:
                continue
            generation = looked.held.get(index, 0)
            if not generation or self._is_over(Lease(stage, index, generation), looked):
                found.append((index, generation + 1))
        return found

    def _is_over(self, lease: Lease, looked: Looked) -> bool:
        if (lease.index, lease.generation) in looked.freed:
            return True
        path = self._file(lease)
        if self._is_of_an_earlier_attempt(path):
            return True
        try:
            changed = path.stat().st_mtime_ns
        except FileNotFoundError:
            return False  # a file system that is late: look again
        last, since = self._seen.get(path, (None, 0.0))
        if last != changed:
            self._seen[path] = changed, self._clock()
            return False
        return self._clock() - since >= self._lease_s

    def _is_of_an_earlier_attempt(self, path: Path) -> bool:
        """Return whether this run has leased a task in an attempt that has ended: attempts follow one another."""
        if path not in self._earlier:
            about = read_worker(path)
            if about is None:
                return False
            own = self._worker
            self._earlier[path] = about.run == own.run and about.attempt < own.attempt
        return self._earlier[path]

    def _claim(self, lease: Lease) -> Lease | None:
        """Lease a task, unless another worker was faster or has finished it."""
        self._claimed = lease
        if not write_once(self._file(lease), json.dumps(asdict(self._worker)).encode(), sync=False):
            return None
        if (self._path / lease.stage / f"{lease.index}.done").exists():
            return None
        return lease

    def _file(self, lease: Lease) -> Path:
        return self._path / lease.stage / f"{lease.index}.{lease.generation}.lease"


def read_worker(path: Path) -> Worker | None:
    """Return the worker of a lease; None if the file cannot be read."""
    try:
        return Worker(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


class Renewal:
    """Renews the lease of the current task four times in a lease's time."""

    def __init__(self, tasks: TaskFolder, *, lease_s: float) -> None:
        self._tasks, self._pause_s = tasks, lease_s / LOOKS_PER_LEASE
        self._end = threading.Event()
        self.current: Lease | None = None
        self._thread = threading.Thread(target=self._run, name="lease renewal", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(self._pause_s):
            lease = self.current
            if lease is not None:
                with suppress(OSError):  # a file system that fails for a moment; the task may be taken over
                    self._tasks.renew(lease)
