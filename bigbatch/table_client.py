"""The client's methods for the table of runs of all experiments, comparisons of chosen ones, and saved views."""

from collections.abc import Iterator, Sequence
from typing import Any

from bigbatch.connection import Connection, Parameters
from bigbatch.frame import frame_of
from contract.api.curves import ComparedCurve, ComparedCurves
from contract.api.reproduction import RunComparison
from contract.api.run_table import FieldNames, RunGroups, TablePage, TableRow
from contract.api.saved.views import NewView, View, ViewChange, ViewPage, Views

PAGE = 500  # rows per request


def _with_numbers(page: TablePage) -> list[TableRow]:
    """Return the rows of a page with NaN and infinities of metrics as numbers, for which JSON has words."""
    metrics = [place for place, column in enumerate(page.columns) if column.metric is not None]
    for row in page.rows:
        for place in metrics:
            if isinstance(cell := row.cells[place], str):
                row.cells[place] = float(cell)
    return page.rows


def plain_row(row: TableRow, columns: Sequence[str]) -> dict[str, Any]:
    """Return a row as a dictionary: `id`, `experiment_id`, `state`, and the columns by their names."""
    first = {"id": row.id, "experiment_id": row.experiment_id, "state": row.state.value}
    return first | dict(zip(columns, row.cells, strict=True))


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
            new = [row for row in _with_numbers(page) if row.id not in seen]
            yield from new
            seen |= {row.id for row in new}
            offset, total = offset + size, page.total

    def table_rows(self, where: str = "", *, columns: Sequence[str] = (), **options: Any) -> list[dict[str, Any]]:
        """Return the same as dictionaries: `id`, `experiment_id`, `state`, and the columns by their names."""
        return [plain_row(row, columns) for row in self.table(where, columns=columns, **options)]

    def table_to_frame(self, where: str = "", *, columns: Sequence[str] = (), **options: Any) -> Any:
        """Return the same as a pandas DataFrame."""
        return frame_of(self.table_rows(where, columns=columns, **options), "id")

    def groups(
        self,
        where: str = "",
        *,
        by: Sequence[str],
        figures: Sequence[str] = (),
        sort: str = "",
        experiment_id: int | None = None,
        limit: int = PAGE,
    ) -> RunGroups:
        """Return the runs of a query in groups of equal values of `by`, with mean, deviation and range of `figures`."""
        ask: Parameters = {"where": where, "sort": sort, "by": list(by), "figure": list(figures), "limit": limit}
        if experiment_id is not None:
            ask["experiment"] = experiment_id
        return self._connection.get("/runs/groups", RunGroups, ask=ask)

    def field_names(self) -> FieldNames:
        """Return the names of all fields that a query, an order or a column may have."""
        return self._connection.get("/runs/names", FieldNames)

    def compare(self, run_ids: Sequence[int]) -> RunComparison:
        """Return what differs between at most 500 runs of any experiments, and the metrics that they have."""
        return self._connection.get("/runs/comparison", RunComparison, ask={"run": [str(one) for one in run_ids]})

    def curves_of_runs(self, run_ids: Sequence[int], name: str, *, buckets: int = 1000) -> list[ComparedCurve]:
        """Return one series of at most 500 runs of any experiments in buckets."""
        ask: Parameters = {"run": [str(one) for one in run_ids], "name": name, "buckets": buckets}
        return self._connection.get("/runs/curves", ComparedCurves, ask=ask).curves

    def views(self, page: ViewPage | None = None) -> list[View]:
        """Return the saved views of a page of the dashboard, or of all pages."""
        return self._connection.get("/views", Views, ask={} if page is None else {"page": page.value}).views

    def save_view(self, name: str, page: ViewPage = ViewPage.RUNS, query: str = "") -> View:
        """Save what a page shows; `query` is that of the page's address: `where=state+%3D+failed&group=batch`."""
        body = NewView(name=name, page=page, query=query).model_dump_json().encode()
        return self._connection.post("/views", View, content=body)

    def change_view(self, view_id: int, change: ViewChange) -> View:
        """Rename a view, change what it shows, delete it, or undo its deletion within a day."""
        return self._connection.change("PATCH", f"/views/{view_id}", View, change)
