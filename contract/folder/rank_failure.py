"""The records of failed ranks and of an attempt's ranks, and the order of failures across different clocks."""

import heapq
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from contract.folder.bounds import MAX_RANKS, Int4, Line, Moment, Rank, Seconds, Text, clamp_moment
from contract.folder.files.atomic_file import write_atomic
from contract.folder.files.untrusted_file import (
    UnreadableFileError,
    exists,
    list_folder,
    open_file,
    touch_file,
)
from contract.folder.record import FolderRecord, read_record
from contract.lifecycle.failure import FailureKind

MAX_BYTES, MAX_ATTEMPT_BYTES = 1 << 20, 1 << 26  # of one rank's file that is read; of all files of an attempt
MAX_CHARACTERS = MAX_BYTES // 16  # of a written reason, and of a trace: in JSON one character may take six bytes
MAX_ENTRIES = 200_000  # of the folder `attempts` that are searched
MAX_FAILURES = 5_000  # of an attempt that are read, those of the lowest ranks: more take a request over a second


class RankFailure(FolderRecord):
    """Why one rank failed."""

    at: Moment  # seconds since 1970, by the clock of the rank that wrote the record
    rank: Rank
    host: Line
    reason: Line
    trace: Text = ""
    echo: bool = False  # a consequence of another rank's failure: this rank's connections broke
    kind: FailureKind = FailureKind.PYTHON_ERROR
    round: Int4 | None = None  # round of the collective in which a peer was missing
    lost: list[Rank] = Field(default=[], max_length=MAX_RANKS)  # of an echo: the ranks whose connections broke
    by: Rank | None = None  # the rank that wrote the record, if it is another rank


_FAILURE = TypeAdapter(RankFailure)


class RankRoster(FolderRecord):
    """The hosts and clock offsets of an attempt's ranks at rendezvous, in rank order."""

    hosts: list[Line] = Field(max_length=MAX_RANKS)
    ahead_s: list[Seconds] = Field(
        max_length=MAX_RANKS
    )  # seconds by which each rank's clock is ahead of rank 0's clock


_ROSTER = TypeAdapter(RankRoster)


def parse_roster(data: bytes) -> RankRoster:
    """Return the roster in a file's bytes; raise ValueError."""
    return read_record(_ROSTER, data)


def order_by_time(written: Sequence[tuple[RankFailure, float]], roster: RankRoster | None) -> list[RankFailure]:
    """Return the failures in time order, echoes last; each `at` is converted to one common clock.

    `written`: each failure with the modification time of its file, by the clock of the shared folder. Without a roster
    the modification time counts; with one, the rank's own time minus the rank's clock offset counts.
    """
    pairs = [
        (failure.model_copy(update={"at": _common_time(failure, written_at, roster)}), failure.at)
        for failure, written_at in written
    ]
    # The folder's clock may have a resolution of only 10 ms, so the ranks' own times decide between equal times.
    return [failure for failure, _ in sorted(pairs, key=lambda pair: (pair[0].echo, pair[0].at, pair[1]))]


def _common_time(failure: RankFailure, written_at: float, roster: RankRoster | None) -> float:
    author = failure.rank if failure.by is None else failure.by
    if roster is None or not author < len(roster.ahead_s):
        return clamp_moment(written_at)
    return clamp_moment(failure.at - roster.ahead_s[author])


def write_rank_failure(folder: Path, attempt: int, failure: RankFailure) -> None:
    """Store a failure in a run's folder, with the beginning of a long reason and the end of a long trace."""
    texts = {"reason": failure.reason[:MAX_CHARACTERS], "trace": failure.trace[-MAX_CHARACTERS:]}
    text = failure.model_copy(update=texts).model_dump_json()
    write_atomic(folder, f"attempts/{_file(attempt, failure.rank)}", text)
    if not failure.echo:
        with suppress(OSError):  # the record counts; the mark lets other ranks end sooner
            touch_file(folder, _cause_file(attempt))


def has_cause(folder: Path, attempt: int) -> bool:
    """Return whether a failure that is no echo is recorded: one look at one file, however many ranks have failed."""
    return exists(folder, _cause_file(attempt))


def list_failed_ranks(folder: Path, attempt: int) -> list[int]:
    """Return the ranks with a record, ascending; the records are not opened."""
    pattern = re.compile(rf"{attempt}\.rank-(\d{{1,9}})\.json")
    names = list_folder(folder, "attempts", MAX_ENTRIES)
    return sorted(int(found[1]) for name in names if (found := pattern.fullmatch(name)))


def read_rank_failures(
    folder: Path, attempt: int, ranks: Iterable[int] | None = None
) -> list[tuple[RankFailure, float]]:
    """Return failures with the modification times of their files; omit damaged and unreadable files.

    `ranks`: open the files of these ranks alone, without a search of the folder.
    """
    pattern, found, size_bytes = re.compile(rf"{attempt}\.rank-.*\.json"), [], 0
    listed = list_folder(folder, "attempts", MAX_ENTRIES) if ranks is None else [_file(attempt, rank) for rank in ranks]
    names = filter(pattern.fullmatch, listed)
    for name in heapq.nsmallest(MAX_FAILURES, names, key=lambda name: (len(name), name)):
        with suppress(FileNotFoundError, UnreadableFileError, ValidationError):
            with open_file(folder, f"attempts/{name}") as file:
                text, written_at = file.read_all(MAX_BYTES), file.written_at
            size_bytes += len(text)
            if size_bytes > MAX_ATTEMPT_BYTES:
                break
            found.append((read_record(_FAILURE, text), written_at))
    return found


def _file(attempt: int, rank: int) -> str:
    return f"{attempt}.rank-{rank}.json"


def _cause_file(attempt: int) -> str:
    return f"attempts/{attempt}.failed"
