"""The client's methods for the table of runs: all runs, filtered by a query and sorted by any field."""

from collections.abc import Iterator, Sequence
from typing import Any

from bigbatch.connection import Connection, Parameters
from bigbatch.frame import frame_of
from contract.api.run_table import FieldNames, TablePage, TableRow

PAGE = 500  # rows per request


class TableClient:
    """The methods; `Client` has the connection."""

    _connection: Connection

    def table(
        self,
        where: str = "",
        *,
        columns: Sequence[str] = (),
        sort: str = "",
        experiment_id: int | None = None,
        archived: bool = False,
        limit: int | None = None,
    ) -> Iterator[TableRow]:
        """Yield the runs of a query, `state = failed and batch > 256`, in the order `sort`, at most `limit`.

        `cells` of a row are the values of `columns`: `batch`, `best(heldout_accuracy)`, `duration`.
        """
        ask: Parameters = {"where": where, "sort": sort, "column": list(columns), "archived": str(archived).lower()}
        if experiment_id is not None:
            ask["experiment"] = experiment_id
        seen = set[int]()  # a run that a new one has shifted to the next page
        offset, total = 0, None
        while (total is None or offset < total) and (limit is None or len(seen) < limit):
            size = PAGE if limit is None else min(PAGE, limit - len(seen))
            page = self._connection.get("/runs/table", TablePage, ask={**ask, "offset": offset, "limit": size})
            new = [row for row in page.rows if row.id not in seen]
            yield from new
            seen |= {row.id for row in new}
            offset, total = offset + size, page.total

    def table_rows(self, where: str = "", *, columns: Sequence[str] = (), **options: Any) -> list[dict[str, Any]]:
        """Return the same as dictionaries: `id`, `experiment_id`, `state`, and the columns by their names."""
        return [
            {"id": row.id, "experiment_id": row.experiment_id, "state": row.state.value}
            | dict(zip(columns, row.cells, strict=True))
            for row in self.table(where, columns=columns, **options)
        ]

    def table_to_frame(self, where: str = "", *, columns: Sequence[str] = (), **options: Any) -> Any:
        """Return the same as a pandas DataFrame."""
        return frame_of(self.table_rows(where, columns=columns, **options), "id")

    def field_names(self) -> FieldNames:
        """Return the names of all fields that a query, an order or a column may have."""
        return self._connection.get("/runs/names", FieldNames)
