"""The client's methods that take points and runs out: as files, and as pandas DataFrames."""

from collections.abc import Sequence
from io import BytesIO
from typing import IO, Any, Literal

from bigbatch.connection import Connection, Parameters
from bigbatch.frame import frame_of_csv

Format = Literal["csv", "jsonl", "parquet"]
POINT_TYPES = {"run": "int64", "series": "str", "step": "int64", "value": "float64"}


class ExportClient:
    """The methods; `Client` has the connection."""

    _connection: Connection

    def export_points(
        self,
        file: IO[bytes],
        where: str = "",
        *,
        form: Format = "csv",
        run_ids: Sequence[int] = (),
        names: Sequence[str] = (),
        experiment_id: int | None = None,
        first: int = 0,
        last: int | None = None,
        archived: bool = False,
    ) -> int:
        """Write every point of the runs of a query to a file, a row for each; return the file's bytes.

        `names` are those of series (without them all), `first` and `last` steps. Parquet needs pyarrow at the service.
        """
        ask = _selection(where, experiment_id, archived=archived)
        ask |= {"format": form, "name": list(names), "run": [str(run_id) for run_id in run_ids], "from": first}
        if last is not None:
            ask["to"] = last
        return self._connection.download("/export/points", file, ask=ask)

    def export_runs(
        self,
        file: IO[bytes],
        where: str = "",
        *,
        form: Format = "csv",
        columns: Sequence[str] = (),
        sort: str = "",
        experiment_id: int | None = None,
        archived: bool = False,
    ) -> int:
        """Write the runs of a query to a file, a row for each with the values of `columns`; return the file's bytes."""
        ask = _selection(where, experiment_id, archived=archived)
        ask |= {"format": form, "column": list(columns), "sort": sort}
        return self._connection.download("/export/runs", file, ask=ask)

    def points_to_frame(self, where: str = "", **options: Any) -> Any:
        """Return every point of the runs of a query as a pandas DataFrame: run, series, step, value.

        The options are those of `export_points`: `run_ids`, `names`, `experiment_id`, `first`, `last`, `archived`.
        """
        file = BytesIO()
        self.export_points(file, where, **options)
        return frame_of_csv(file, POINT_TYPES)


def _selection(where: str, experiment_id: int | None, *, archived: bool) -> Parameters:
    ask: Parameters = {"where": where, "archived": str(archived).lower()}
    return ask if experiment_id is None else {**ask, "experiment": experiment_id}
