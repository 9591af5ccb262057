"""The files of lines: what each rank writes to its output and to its errors, for the source of metrics that reads it.

attempts/N.lines-R.out and .err have the bytes of rank R in attempt N, so lines of two streams never split each other.
The process that writes them (agent/ranks/output_pump.py) ends with attempts/N.lines-R.end, named after its first rank:
the byte after the last whole line of each of its files, by "RANK.out" and "RANK.err".
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from agent.folder.run_folder import RunFolder
from runfiles.job_folder import MAX_BYTES
from runfiles.regular_file import read_text
from runfiles.retries import FOR_S, try_for

STREAMS = ("out", "err")
END = "end"
_NAME = re.compile(r"([0-9]{1,9})\.lines-([0-9]{1,7})\.(out|err|end)")


class OutputFile(NamedTuple):
    """A file of lines, or the record of the ends of several."""

    attempt: int
    rank: int
    kind: str  # of STREAMS, or END

    @property
    def name(self) -> str:
        """The file's name in `attempts`."""
        return f"{self.attempt}.lines-{self.rank}.{self.kind}"


def list_output_files(attempts: str) -> list[OutputFile]:
    """Return the files of all attempts, in the order of attempts and ranks; raise OSError."""
    found = filter(None, map(_NAME.fullmatch, os.listdir(attempts)))
    return sorted(OutputFile(int(one[1]), int(one[2]), one[3]) for one in found)


def read_ends(attempts: str, files: Iterable[OutputFile]) -> dict[str, dict[str, int]]:
    """Return each record of ends among the files, by name: the byte after the last whole line of each of its files."""
    records = {}
    for file in files:
        if file.kind == END:
            # NFS may show a new file as empty at first, and the program can replace it
            with suppress(OSError, ValueError, AttributeError, TypeError, RecursionError):
                stored = json.loads(read_text(os.path.join(attempts, file.name), MAX_BYTES))
                records[file.name] = {_name(file.attempt, key): int(end) for key, end in stored.items()}
    return records


def write_end(folder: RunFolder, attempt: int, ends: Mapping[tuple[int, str], int], *, limit_s: float) -> None:
    """Record the ends of the files of a process, by rank and stream; a full disk is tried again for a while."""
    name = OutputFile(attempt, min(rank for rank, _ in ends), END).name
    text = json.dumps({f"{rank}.{stream}": end for (rank, stream), end in ends.items()})
    try_for(lambda: folder.write(name, text), "the end of the output", limit_s=min(limit_s, FOR_S))


def rank_of(name: str) -> int:
    """Return the rank whose lines are in the file of this name."""
    return int(name.rpartition("-")[2].partition(".")[0])


def _name(attempt: int, key: str) -> str:
    rank, _, kind = key.partition(".")
    return OutputFile(attempt, int(rank), kind).name
