"""The points of ranks above 0: in a program each such rank appends to a file of its own, points/rank-R.jsonl.

A metric NAME of rank R becomes the series NAME/rank-R. The files are read as the run's events are, from cursors that
are stored with the points. A run without the folder `points` costs one look at that name.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from contract.folder.bounds import MAX_NAME_CHARS
from contract.folder.events import Points
from contract.folder.files.untrusted_file import UnreadableFileError, is_folder, list_folder, open_file, sizes_of
from contract.folder.run_folder import POINTS, RunFolder
from contract.metric_names import name_of_rank
from scheduler.events.tail import MAX_BACKLOG_BYTES, BacklogError, read_lines

MAX_FILES = (
    256  # of a run: the lowest ranks of the first tick that finds the folder, and later ones while there is room
)
MAX_ENTRIES = 10_000  # of the folder that are searched
LEAST_BYTES = 1 << 12  # of one file in one read
RANK_FILE = re.compile(r"rank-([1-9][0-9]{0,5})\.jsonl")


class RankPoints(NamedTuple):
    """What ranks have logged since their cursors."""

    points: list[Points] = []  # with the rank in each name
    cursors: Mapping[str, int] = {}  # of all files, by rank: the byte after the last whole line
    more: bool = False  # a file goes on beyond this read


def unread_of_ranks(folder: RunFolder, cursors: Mapping[str, int]) -> dict[str, int]:
    """Return the ranks whose files go on beyond their cursors, with the number of their unread bytes.

    A link or a FIFO in a file's place has no points. Raise BacklogError if all files together have more unread bytes
    than a run's events may have.
    """
    if not is_folder(folder.path, POINTS):
        return {}
    ranks = _chosen(list_folder(folder.path, POINTS, MAX_ENTRIES), cursors)
    sizes = sizes_of(folder.path, POINTS, map(_file_of, ranks))
    unread = {rank: sizes.get(_file_of(rank), 0) - cursors.get(rank, 0) for rank in ranks}
    grown = {rank: count for rank, count in unread.items() if count > 0}
    if (total := sum(grown.values())) > MAX_BACKLOG_BYTES:
        raise BacklogError(f"{POINTS} has {total:,} unread bytes, more than {MAX_BACKLOG_BYTES:,}")
    return grown


def read_rank_points(
    folder: RunFolder, cursors: Mapping[str, int], unread: Mapping[str, int], max_bytes: int
) -> RankPoints:
    """Read about `max_bytes` of the new lines of the ranks in `unread` at most, an equal part of each file."""
    points: list[Points] = []
    new, more = dict(cursors), False
    share = max(max_bytes // max(len(unread), 1), LEAST_BYTES)
    for rank in unread:
        name = f"{POINTS}/{_file_of(rank)}"
        with suppress(FileNotFoundError, UnreadableFileError), open_file(folder.path, name) as file:
            tail = read_lines(f"{folder.path}/{name}", file, cursors.get(rank, 0), share)
            points += [_of_rank(event, int(rank)) for event in tail.events if isinstance(event, Points)]
            new[rank], more = tail.cursor, more or tail.more
    return RankPoints(points, new, more)


def _chosen(names: Iterable[str], cursors: Mapping[str, int]) -> list[str]:
    """Return the ranks whose files are read: those with a cursor, and new ones up to MAX_FILES."""
    found = sorted(int(match[1]) for name in names if (match := RANK_FILE.fullmatch(name)))
    ranks = [str(rank) for rank in found]
    room = max(0, MAX_FILES - len(cursors))
    new = [rank for rank in ranks if rank not in cursors][:room]
    return [*(rank for rank in ranks if rank in cursors), *new]


def _of_rank(event: Points, rank: int) -> Points:
    """Return the event with the rank in each name, without names that become too long."""
    named = {name_of_rank(name, rank): value for name, value in event.values.items()}
    return event.model_copy(
        update={"values": {name: value for name, value in named.items() if len(name) <= MAX_NAME_CHARS}}
    )


def _file_of(rank: str) -> str:
    return f"rank-{rank}.jsonl"
