"""Where every rank's time went: times.csv in the run folder, which rank 0 writes and the API reads.

A row is one rank over a stretch of steps, in mean seconds of a step. The ranks tell each other their times about once
a second, so a stretch is a single step where steps take so long.
"""

import csv
from collections import defaultdict
from pathlib import Path

from pydantic import BaseModel

from contract import metric_names as series

KEYS = ("attempt", "first_step", "last_step", "rank")
COLUMNS = (*KEYS, *series.PARTS)
TAIL_BYTES = 1 << 19  # so much of a long file is looked at


class RankTime(BaseModel):
    rank: int
    seconds: dict[str, float]  # of a step, mean; by the series' names: compute_s, communication_s, ...


class RankTimes(BaseModel):
    """Every rank's time over the newest steps of the latest attempt."""

    attempt: int
    first_step: int
    last_step: int
    ranks: list[RankTime]


def read_times(path: Path) -> RankTimes | None:
    """The newest rows of a run's times.csv, their means rank by rank; None while there are none."""
    try:
        with path.open("rb") as file:
            names = file.readline().decode().strip().split(",")
            body, end = file.tell(), file.seek(0, 2)
            file.seek(max(body, end - TAIL_BYTES))
            if end - TAIL_BYTES > body:
                file.readline()  # a row of which the beginning was cut off
            lines = file.read().decode().splitlines(keepends=True)
    except FileNotFoundError:
        return None
    rows = [
        row for row in csv.reader(line for line in lines if line.endswith("\n")) if len(row) == len(names) and all(row)
    ]
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return _means([row for row in found if row["attempt"] == found[-1]["attempt"]], names)


def _means(rows: list[dict[str, str]], names: list[str]) -> RankTimes | None:
    starts = [int(row["first_step"]) for row in rows if row["rank"] == "0"]  # a stretch begins with the first rank
    if not starts:
        return None
    parts = [name for name in names if name not in KEYS]
    steps: dict[int, int] = defaultdict(int)
    sums: dict[int, dict[str, float]] = defaultdict(lambda: dict.fromkeys(parts, 0.0))
    for row in rows:
        if int(row["first_step"]) < starts[0]:
            continue  # of a stretch of which the tail lacks the first ranks
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
