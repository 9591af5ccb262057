"""Neptune's Parquet export (neptune-exporter): a row for each value of an attribute of a run."""

import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from bigbatch.errors import BigbatchError
from bigbatch.importing.imported_run import ImportedRun

NAME, TAGS, NOTE = "sys/name", ("sys/tags", "sys/group_tags"), "sys/description"
STARTED, ENDED = "sys/creation_time", "sys/modification_time"
VALUES = {
    "int": "int_value",
    "float": "float_value",
    "string": "string_value",
    "bool": "bool_value",
    "datetime": "datetime_value",
    "string_set": "string_set_value",
}
COLUMNS = ["run_id", "attribute_path", "attribute_type", "step", "timestamp", *VALUES.values()]
SERIES = "float_series"
ROWS = 65_536  # in memory at once


class NoExport(BigbatchError):
    """The folder has no export of Neptune, or cannot be read."""

    exit_code = 2


class NeptuneProject(NamedTuple):
    """A project of an export: its name, and the files of each of its runs."""

    name: str
    runs: Mapping[str, Sequence[Path]]


def find_projects(folder: Path) -> list[NeptuneProject]:
    """Return the projects in an export; raise NoExport."""
    parquet = _parquet()
    found: dict[str, dict[str, list[Path]]] = {}
    for path in sorted(folder.rglob("*.parquet")):
        try:
            file = parquet.ParquetFile(path)
            if missing := {"project_id", *COLUMNS} - set(file.schema_arrow.names):
                raise NoExport(f"{path} is no export of Neptune: it lacks {', '.join(sorted(missing))}")
            for batch in file.iter_batches(ROWS, columns=["project_id", "run_id"]):
                for project, run in dict.fromkeys(zip(*batch.to_pydict().values(), strict=True)):
                    files = found.setdefault(str(project), {}).setdefault(str(run), [])
                    files += [] if path in files else [path]
        except (OSError, ValueError) as error:
            raise NoExport(f"{path} cannot be read: {error}") from error
    if not found:
        raise NoExport(f"{folder} has no Parquet files of Neptune's exporter")
    return [NeptuneProject(name, runs) for name, runs in sorted(found.items())]


def read_neptune(project: NeptuneProject, *, step_multiplier: int = 1) -> Iterator[ImportedRun]:
    """Yield the runs of a project; steps are multiplied, and points whose steps are not whole then are left out."""
    for run_id, paths in project.runs.items():
        run = ImportedRun(key=run_id, name=run_id)
        for path in paths:
            for batch in _parquet().ParquetFile(path).iter_batches(ROWS, columns=COLUMNS):
                for row in batch.to_pylist():
                    if row["run_id"] == run_id:
                        _add(run, row, step_multiplier)
        yield run


def _add(run: ImportedRun, row: Mapping[str, Any], step_multiplier: int) -> None:
    path, kind = row["attribute_path"], row["attribute_type"]
    if kind == SERIES:
        step = (row["step"] or 0) * step_multiplier
        value = row["float_value"]
        if step != int(step) or value is None:
            run.left_out += 1
            return
        run.add(path, int(step), value, _seconds(row["timestamp"]))
    elif kind in VALUES:
        _add_attribute(run, path, row[VALUES[kind]])


def _add_attribute(run: ImportedRun, path: str, value: Any) -> None:
    if path in TAGS:
        run.tags += value or []
    elif path == NOTE:
        run.notes = str(value)
    elif path == NAME and value:
        run.name = str(value)
    elif path == STARTED and isinstance(value, datetime):
        run.started_at = value.timestamp()
    elif path == ENDED and isinstance(value, datetime):
        run.ended_at = value.timestamp()
    elif not path.startswith("sys/"):
        run.parameters[path] = ", ".join(value) if isinstance(value, list) else value


def _seconds(moment: datetime | None) -> float:
    return math.nan if moment is None else moment.timestamp()


def _parquet() -> Any:
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise NoExport("the import of Neptune's export needs pyarrow: pip install 'bigbatch[parquet]'") from error
