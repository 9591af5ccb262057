"""Tables as comma-separated values on standard output."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bigbatch.terminal.streams import data_stream
from contract.csv_cells import csv_cell


def print_csv(heads: Sequence[str], rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
    """Print the line of heads and the rows, each as its cells or by the heads; no text is a formula."""
    writer = csv.writer(data_stream(), lineterminator="\n")
    writer.writerow(map(csv_cell, heads))
    for row in rows:
        cells = [row.get(head) for head in heads] if isinstance(row, Mapping) else row
        writer.writerow(map(csv_cell, cells))
