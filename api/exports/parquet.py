"""Parquet by pyarrow, an extra of the service: a row group is written as soon as its rows are there."""

import importlib
from collections.abc import Sequence
from typing import Any

from api.errors import Invalid
from api.exports.formats import Block, ExportColumn, Repeated, TableWriter
from contract.validation import ValidationIssue

ROW_GROUP = 1 << 17  # rows in memory at once
NO_PYARROW = "this service has no pyarrow: install bigbatch[parquet] there, or ask for csv or jsonl"


class _Sink:
    """A file of which the written bytes are taken away."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        """Take bytes from pyarrow, whose memory they are."""
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def flush(self) -> None:
        """Do nothing: the bytes are there."""

    def close(self) -> None:
        """Close the file."""
        self.closed = True

    def take(self) -> bytes:
        """Return the bytes since the last call."""
        data, self._parts = b"".join(self._parts), []
        return data


class ParquetWriter(TableWriter):
    """A Parquet file; raise Invalid without pyarrow."""

    def __init__(self, columns: Sequence[ExportColumn]) -> None:
        super().__init__(columns)
        try:
            self._arrow = importlib.import_module("pyarrow")
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError as error:
            message = "the format is not available"
            raise Invalid(message, [ValidationIssue(path="format", message=NO_PYARROW)]) from error
        types = {
            "integer": self._arrow.int64(),
            "number": self._arrow.float64(),
            "text": self._arrow.string(),
            "boolean": self._arrow.bool_(),
        }
        self._schema = self._arrow.schema([(column.name, types[column.type]) for column in columns])
        self._sink = _Sink()
        self._writer = parquet.ParquetWriter(self._arrow.PythonFile(self._sink, mode="w"), self._schema)
        self._waiting: list[Any] = []

    def write(self, block: Block) -> bytes:
        arrays = [
            self._array(values, block.rows, self._schema.field(place).type)
            for place, values in enumerate(block.columns)
        ]
        self._waiting.append(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        if sum(table.num_rows for table in self._waiting) >= ROW_GROUP:
            self._write_group()
        return self._sink.take()

    def end(self) -> bytes:
        self._write_group()
        self._writer.close()
        return self._sink.take()

    def _write_group(self) -> None:
        if self._waiting:
            self._writer.write_table(self._arrow.concat_tables(self._waiting), row_group_size=ROW_GROUP)
            self._waiting = []

    def _array(self, values: Any, rows: int, kind: Any) -> Any:
        if isinstance(values, Repeated):
            return self._arrow.repeat(self._arrow.scalar(values.value, kind), rows)
        return self._arrow.array(values, kind)
