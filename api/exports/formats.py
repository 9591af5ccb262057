"""The formats of exports: tables as CSV, JSON lines or Parquet, written a block of rows at a time."""

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from enum import StrEnum
from io import StringIO
from itertools import repeat
from math import isfinite
from typing import Any, Literal, NamedTuple

from contract.csv_cells import csv_cell
from store.metrics.packing import Integers, Reals

Type = Literal["integer", "number", "text", "boolean"]


class ExportFormat(StrEnum):
    """A format of an export."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


MEDIA_TYPES = {
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.JSONL: "application/jsonl",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
}


class ExportColumn(NamedTuple):
    """A column of a table."""

    name: str
    type: Type


class Repeated(NamedTuple):
    """A value that all rows of a block have."""

    value: Any


Values = Repeated | Sequence[Any] | Integers | Reals


class Block(NamedTuple):
    """Successive rows, by columns."""

    rows: int
    columns: Sequence[Values]

    def as_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows."""
        return zip(*(_items(values, self.rows) for values in self.columns), strict=True)


class TableWriter(ABC):
    """Writes one table; each method returns the next bytes."""

    def __init__(self, columns: Sequence[ExportColumn]) -> None:
        self.columns = columns

    @abstractmethod
    def write(self, block: Block) -> bytes:
        """Return the bytes of further rows, which may also come with a later call."""

    def end(self) -> bytes:
        """Return the last bytes."""
        return b""


class CsvWriter(TableWriter):
    """Comma-separated values with one line of names; NaN and infinities are nan, inf and -inf; no text is a formula."""

    def __init__(self, columns: Sequence[ExportColumn]) -> None:
        super().__init__(columns)
        self._head = _csv_lines([tuple(csv_cell(column.name) for column in columns)])

    def write(self, block: Block) -> bytes:
        head, self._head = self._head, b""
        pairs = zip(self.columns, block.columns, strict=True)
        safe = [_csv_cells(values) if column.type == "text" else values for column, values in pairs]
        return head + _csv_lines(Block(block.rows, safe).as_rows())

    def end(self) -> bytes:
        return self._head  # of a table without rows


class JsonLinesWriter(TableWriter):
    """An object of JSON in each line; NaN and infinities are the texts NaN, Infinity and -Infinity."""

    def write(self, block: Block) -> bytes:
        names = [column.name for column in self.columns]
        encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
        lines = (encode(dict(zip(names, map(_json_value, row), strict=True))) for row in block.as_rows())
        return "".join(f"{line}\n" for line in lines).encode()


def _items(values: Values, rows: int) -> Any:
    if isinstance(values, Repeated):
        return repeat(values.value, rows)
    return values if isinstance(values, Sequence) else values.tolist()


def _csv_cells(values: Values) -> Values:
    if isinstance(values, Repeated):
        return Repeated(csv_cell(values.value))
    return [csv_cell(value) for value in values] if isinstance(values, Sequence) else values


def _csv_lines(rows: Any) -> bytes:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _json_value(value: Any) -> Any:
    if not isinstance(value, float) or isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
