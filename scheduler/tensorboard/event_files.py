"""The tensorboard tick: bring the event files of runs up to what the service has stored of them.

A run's event file has what its job reported: what ingest has stored is read again from the run's folder, where each
point has its moment. The file is written first and the position after it, so a worker that is killed between the two
leaves bytes that the next tick replaces by the same ones: each point is in the file once.
"""

import fcntl
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contract.folder.events import Event
from contract.folder.files.atomic_file import write_atomic
from contract.folder.files.untrusted_file import open_for_append, read_file, stat_file
from scheduler.context import Context
from scheduler.events.rank_points import read_rank_points
from scheduler.events.tail import MAX_BYTES, BacklogError, read_tail
from scheduler.tensorboard.records import append
from store import runs
from store.runs import ReadRun
from store.session import snapshot
from store.tables.base import now

POSITION = "position.json"  # beside the event file
POSITION_BYTES = 1 << 16  # of that file: it has one number for each of 256 ranks


class Position(BaseModel):
    """Everything of the run's folder up to here is in the first `size` bytes of the event file."""

    model_config = ConfigDict(frozen=True)

    began: float = Field(default_factory=time.time)  # seconds since 1970, in the file's name as TensorBoard wants it
    size: int = Field(default=0, ge=0)
    cursor: int = Field(default=0, ge=0)  # in the run's events
    ranks: dict[str, int] = {}  # the same of ranks above 0 and of nodes

    @property
    def file(self) -> str:
        """The name of the event file."""
        return f"events.out.tfevents.{int(self.began):010d}.bigbatch"

    @classmethod
    def read(cls, folder: Path) -> "Position":
        """Return the position of the folder of an event file; the beginning of a new file where one is missing."""
        try:
            found = cls.model_validate_json(read_file(folder, POSITION, POSITION_BYTES))
            return found if stat_file(folder, found.file).st_size >= found.size else cls()
        except (FileNotFoundError, ValidationError):
            return cls()

    def write(self, folder: Path) -> None:
        """Store the position, after what it names is on the disk."""
        write_atomic(folder, POSITION, self.model_dump_json())


BUDGET_S = 4.0  # of a tick; the next one goes on
LATEST = timedelta(days=1)  # a run that ended before that, and whose file is not complete, stays so
LOCK = ".lock"
log = logging.getLogger(__name__)


def write_event_files(context: Context) -> None:
    """Write what is new of each run, until the budget is used; do nothing without the setting."""
    root = context.tensorboard_folder
    if root is None:
        return
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root) as is_mine:
        if is_mine:
            _write_all(context, root)


def _write_all(context: Context, root: Path) -> None:
    with snapshot(context.engine) as db:
        read = runs.read_lately(db, ended_after=now() - LATEST)
    written, until = context.memory.event_files_written, time.monotonic() + BUDGET_S
    for run in read:
        key = ("event file", run.id)
        if written.get(run.id) == (reached := _reached(run)) or not context.memory.retries.is_due(key):
            continue
        if time.monotonic() > until:
            return
        context.memory.note_progress("tensorboard")
        try:
            if _bring_up(context, root, run, until):
                written[run.id] = reached
        except (OSError, BacklogError) as error:  # one folder must not hold up the others
            wait_s = context.memory.retries.note_failure(key)
            log.warning("the event file of run %d cannot be written, next try in %.0f s: %s", run.id, wait_s, error)
        else:
            context.memory.retries.forget(key)
    context.memory.event_files_written = {run.id: written[run.id] for run in read if run.id in written}


def _reached(run: ReadRun) -> int:
    """Return a number that grows with everything that is stored of a run's files."""
    return run.cursor + sum(run.rank_cursors.values())


def _bring_up(context: Context, root: Path, run: ReadRun, until: float) -> bool:
    """Write what is stored of a run; return whether that is all."""
    folder = folder_of(root, run)
    position = Position.read(folder)
    while (new := _read(context, run, position)).position != position:
        size = append(folder / position.file, position.size, new.events, position.began)
        position = new.position.model_copy(update={"size": size})
        position.write(folder)
        if time.monotonic() > until:
            return False
    return True


def folder_of(root: Path, run: ReadRun) -> Path:
    """Return the folder of a run's event file, whose parts TensorBoard shows as the name of the run."""
    return root / f"experiment-{run.experiment_id}" / f"run-{run.id}"


class _New(NamedTuple):
    events: list[Event]
    position: Position  # after the events, with the size before them


def _read(context: Context, run: ReadRun, position: Position) -> _New:
    """Read the next part of what is stored of a run and is not in its event file."""
    folder = context.folder_of(run)
    events: list[Event] = []
    cursor, ranks = position.cursor, position.ranks
    if run.cursor > cursor:
        tail = read_tail(folder, cursor, min(MAX_BYTES, run.cursor - cursor))
        events += tail.events
        # a folder that was removed since has no more
        cursor = tail.cursor if tail.cursor > cursor else run.cursor
    behind = {rank: at - ranks.get(rank, 0) for rank, at in run.rank_cursors.items()}
    unread = {rank: size for rank, size in behind.items() if size > 0}
    if unread:
        found = read_rank_points(folder, ranks, unread, MAX_BYTES)
        events += found.points
        ranks = {**found.cursors, **({} if found.points else run.rank_cursors)}
    return _New(events, position.model_copy(update={"cursor": cursor, "ranks": ranks}))


@contextmanager
def _locked(root: Path) -> Iterator[bool]:
    """Yield whether this worker alone writes event files: another one may be at it."""
    with open_for_append(root, LOCK) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
