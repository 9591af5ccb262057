"""The table of step times, times.csv in the run folder: rank 0 writes the table, the API reads the table.

A row has the mean seconds per step of one rank over a range of steps. The ranks exchange their times about once a
second, so a range is a single step if a step takes that long.
"""

import csv
from collections import defaultdict
from pathlib import Path

from pydantic import BaseModel

from contract import metric_names
from contract.folder.untrusted_file import open_file

KEYS = ("attempt", "first_step", "last_step", "rank")
COLUMNS = (*KEYS, *metric_names.TIME_PARTS)
HEADER_BYTES = 1 << 14  # the longest first line
TAIL_BYTES = 1 << 19  # of a long file, only the last bytes are read


class RankTime(BaseModel):
    """The step times of one rank."""

    rank: int
    seconds: dict[str, float]  # mean seconds per step, by series name: compute_s, communication_s, ...


class RankTimes(BaseModel):
    """The step times of every rank over the newest steps of the latest attempt."""

    attempt: int
    first_step: int
    last_step: int
    ranks: list[RankTime]


def read_rank_times(folder: Path, name: str) -> RankTimes | None:
    """Return each rank's mean times over the newest rows of the table; None without a row.

    Raise UnreadableFileError if the table is not a regular file, or another OSError.
    """
    try:
        with open_file(folder, name) as file:
            header, end_of_line, _ = file.read(0, HEADER_BYTES).partition(b"\n")
            if not end_of_line:
                return None
            start = max(len(header) + 1, file.size - TAIL_BYTES)
            text = file.read(start, TAIL_BYTES)
    except FileNotFoundError:
        return None
    if start > len(header) + 1:
        text = text.partition(b"\n")[2]  # skip a row whose beginning was not read
    names, lines = header.decode().strip().split(","), text.decode().splitlines(keepends=True)
    rows = [
        row for row in csv.reader(line for line in lines if line.endswith("\n")) if len(row) == len(names) and all(row)
    ]
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return _means([row for row in found if row["attempt"] == found[-1]["attempt"]], names)


def _means(rows: list[dict[str, str]], names: list[str]) -> RankTimes | None:
    starts = [int(row["first_step"]) for row in rows if row["rank"] == "0"]  # rank 0 has the first row of a range
    if not starts:
        return None
    parts = [name for name in names if name not in KEYS]
    steps: dict[int, int] = defaultdict(int)
    sums: dict[int, dict[str, float]] = defaultdict(lambda: dict.fromkeys(parts, 0.0))
    for row in rows:
        if int(row["first_step"]) < starts[0]:
            continue  # the range's first rows were not read
        rank, count = int(row["rank"]), int(row["last_step"]) - int(row["first_step"]) + 1
        steps[rank] += count
        for part in parts:
            sums[rank][part] += count * float(row[part])
    ranks = [
        RankTime(rank=rank, seconds={part: total / steps[rank] for part, total in sums[rank].items()})
        for rank in sorted(sums)
    ]
    last = rows[-1]
    return RankTimes(attempt=int(last["attempt"]), first_step=starts[0], last_step=int(last["last_step"]), ranks=ranks)
