"""The table of step times, times.csv in the run folder: rank 0 writes the table, the API reads the table.

A row has the mean seconds per step of one rank over a range of steps. The ranks exchange their times about once a
second, so a range is a single step if a step takes that long.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from contract import metric_names
from contract.described_model import DescribedModel
from contract.folder.bounds import Int4, Rank, Seconds
from contract.folder.files.untrusted_file import open_file
from contract.folder.record import FolderRecord

KEYS = ("attempt", "first_step", "last_step", "rank")
COLUMNS = (*KEYS, *metric_names.TIME_PARTS)
HEADER_BYTES = 1 << 14  # the longest first line
TAIL_BYTES = 1 << 19  # of a long file, only the last bytes are read


class RankTime(DescribedModel):
    """The step times of one rank."""

    rank: int = Field(examples=[3])
    """Number of the rank, from 0."""
    seconds: dict[str, float] = Field(examples=[{"compute_s": 0.081, "communication_s": 0.012, "idle_s": 0.004}])
    """Mean seconds per step of each part of a step, by series name."""


class RankTimes(DescribedModel):
    """The step times of every rank over the newest steps of the latest attempt."""

    attempt: int = Field(examples=[1])
    """Number of the attempt, from 1."""
    first_step: int = Field(examples=[1190])
    """First step of the range."""
    last_step: int = Field(examples=[1200])
    """Last step of the range."""
    ranks: list[RankTime]
    """The times of each rank, in rank order."""


class _Row(FolderRecord):
    """One row of the table, as text or as numbers."""

    attempt: Int4
    first_step: Int4
    last_step: Int4
    rank: Rank
    parts: list[Seconds]

    @model_validator(mode="after")
    def _has_steps(self) -> "_Row":
        if self.last_step < self.first_step:
            raise ValueError(f"the last step {self.last_step} comes before the first step {self.first_step}")
        return self

    @property
    def steps(self) -> int:
        return self.last_step - self.first_step + 1


_ROW = TypeAdapter(_Row)


def read_rank_times(folder: Path, name: str) -> RankTimes | None:
    """Return each rank's mean times over the newest rows of the table; None without a row.

    Rows that are incomplete or not numbers are skipped. The table's format has no quotes. Raise UnreadableFileError if
    the table is not a regular file, or another OSError.
    """
    try:
        with open_file(folder, name) as file:
            header, end_of_line, _ = file.read(0, HEADER_BYTES).partition(b"\n")
            start = max(len(header) + 1, file.size - TAIL_BYTES)
            text = file.read(start, TAIL_BYTES) if end_of_line else b""
    except FileNotFoundError:
        return None
    if start > len(header) + 1:
        text = text.partition(b"\n")[2]  # skip a row whose beginning was not read
    names = header.decode("utf-8", "replace").strip().split(",")
    lines = text.decode("utf-8", "replace").split("\n")[:-1]  # the last one has no end
    parts = [name for name in names if name not in KEYS]
    if not set(KEYS).issubset(names) or len(set(names)) < len(names):
        return None
    rows = [row for line in lines if (row := _parse(names, parts, line.rstrip("\r")))]
    return _means([row for row in rows if row.attempt == rows[-1].attempt], parts)


def _parse(names: Sequence[str], parts: Sequence[str], line: str) -> _Row | None:
    values = line.split(",")
    if len(values) != len(names) or not all(values):
        return None
    row = dict(zip(names, values, strict=True))
    try:
        return _ROW.validate_python({name: row[name] for name in KEYS} | {"parts": [row[part] for part in parts]})
    except ValidationError:
        return None


def _means(rows: Sequence[_Row], parts: Sequence[str]) -> RankTimes | None:
    starts = [row.first_step for row in rows if row.rank == 0]  # rank 0 has the first row of a range
    if not starts:
        return None
    steps: dict[int, int] = defaultdict(int)
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0] * len(parts))
    for row in rows:
        if row.first_step < starts[0]:
            continue  # the range's first rows were not read
        steps[row.rank] += row.steps
        sums[row.rank] = [total + row.steps * part_s for total, part_s in zip(sums[row.rank], row.parts, strict=True)]
    ranks = [
        RankTime(rank=rank, seconds={part: total / steps[rank] for part, total in zip(parts, sums[rank], strict=True)})
        for rank in sorted(sums)
    ]
    return RankTimes(attempt=rows[-1].attempt, first_step=starts[0], last_step=rows[-1].last_step, ranks=ranks)
