"""The points of ranks above 0 and of nodes, each in a file of its own: points/rank-R.jsonl, points/system-HOST.jsonl.

A metric NAME of rank R becomes the series NAME/rank-R, and one of a node system/HOST/NAME. The files are read as the
run's events are, from cursors that are stored with the points. A run without the folder `points` costs one look at that
name.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from contract.folder.bounds import MAX_NAME_CHARS
from contract.folder.events import Points
from contract.folder.files.untrusted_file import UnreadableFileError, is_folder, list_folder, open_file, sizes_of
from contract.folder.run_folder import POINTS, RunFolder
from contract.metric_names import name_of_rank, name_of_system
from scheduler.events.tail import MAX_BACKLOG_BYTES, BacklogError, Damage, read_lines

MAX_FILES = (
    256  # of a run: the lowest ranks of the first tick that finds the folder, and later ones while there is room
)
OF_SYSTEM = "system-"  # begins the name of a node among the ranks
MAX_ENTRIES = 10_000  # of the folder that are searched
LEAST_BYTES = 1 << 12  # of one file in one read
RANK_FILE = re.compile(r"rank-([1-9][0-9]{0,5})\.jsonl")
SYSTEM_FILE = re.compile(r"(system-[A-Za-z0-9_][A-Za-z0-9._-]{0,99})\.jsonl")


class RankPoints(NamedTuple):
    """What ranks have logged since their cursors."""

    points: list[Points] = []  # with the rank in each name
    cursors: Mapping[str, int] = {}  # of all files, by rank: the byte after the last whole line
    more: bool = False  # a file goes on beyond this read
    damage: Damage = Damage()


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
    new, more, damage = dict(cursors), False, Damage()
    share = max(max_bytes // max(len(unread), 1), LEAST_BYTES)
    for rank in unread:
        name = f"{POINTS}/{_file_of(rank)}"
        with suppress(FileNotFoundError, UnreadableFileError), open_file(folder.path, name) as file:
            tail = read_lines(f"{folder.path}/{name}", file, cursors.get(rank, 0), share)
            points += [_renamed(event, rank) for event in tail.events if isinstance(event, Points)]
            new[rank], more = tail.cursor, more or tail.more
            damage = damage.plus(tail.damage)
    return RankPoints(points, new, more, damage)


def _chosen(names: Iterable[str], cursors: Mapping[str, int]) -> list[str]:
    """Return the ranks and nodes whose files are read: those with a cursor, and new ones up to MAX_FILES."""
    found = list(names)
    numbers = sorted(int(match[1]) for name in found if (match := RANK_FILE.fullmatch(name)))
    nodes = sorted(match[1] for name in found if (match := SYSTEM_FILE.fullmatch(name)))
    ranks = [*map(str, numbers), *nodes]
    room = max(0, MAX_FILES - len(cursors))
    new = [rank for rank in ranks if rank not in cursors][:room]
    return [*(rank for rank in ranks if rank in cursors), *new]


def _renamed(event: Points, rank: str) -> Points:
    """Return the event with the rank or the node in each name, without names that become too long."""
    if rank.startswith(OF_SYSTEM):
        host = rank.removeprefix(OF_SYSTEM)
        named = {name_of_system(name, host): value for name, value in event.values.items()}
    else:
        named = {name_of_rank(name, int(rank)): value for name, value in event.values.items()}
    return event.model_copy(
        update={"values": {name: value for name, value in named.items() if len(name) <= MAX_NAME_CHARS}}
    )


def _file_of(rank: str) -> str:
    return f"{rank}.jsonl" if rank.startswith(OF_SYSTEM) else f"rank-{rank}.jsonl"
