"""MLflow's local stores: a folder `mlruns`, and an SQLite database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bigbatch.errors import BigbatchError
from bigbatch.importing.mlflow import MlflowExperiment, MlflowRun, NoMlflow, Point, number_of
from contract.yaml_reader import DocumentError, read_document

META = "meta.yaml"
ACTIVE = "active"


class MlflowFolder:
    """A folder with a subfolder for each experiment, and in these one for each run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def experiments(self) -> Iterator[MlflowExperiment]:
        """Yield the experiments that are not deleted."""
        found = False
        for place in sorted(self._folder.iterdir()):
            if (place / META).is_file():
                meta, found = _read_meta(place), True
                if meta.get("lifecycle_stage", ACTIVE) == ACTIVE:
                    yield MlflowExperiment(place.name, str(meta.get("name", place.name)))
        if not found:
            raise NoMlflow(f"{self._folder} has no experiments of MLflow: none of its folders has a file {META}")

    def runs(self, experiment: MlflowExperiment) -> Iterator[MlflowRun]:
        """Yield the runs of an experiment that are not deleted."""
        for place in sorted((self._folder / experiment.id).iterdir()):
            if not (place / META).is_file():
                continue
            meta = _read_meta(place)
            if meta.get("lifecycle_stage", ACTIVE) != ACTIVE or "run_id" not in meta:
                continue
            yield MlflowRun(
                f"{experiment.id}/{place.name}",
                str(meta.get("run_name") or ""),
                _whole(meta.get("start_time")),
                _whole(meta.get("end_time")),
                _texts(place / "params"),
                _texts(place / "tags"),
                [path.relative_to(place / "metrics").as_posix() for path in _files(place / "metrics")],
            )

    def points(self, run: MlflowRun, metric: str) -> Iterator[Point]:
        """Yield the points of a metric: lines of moment, value and step."""
        path = self._folder / run.id / "metrics" / metric
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                words = line.split()
                try:
                    yield int(words[2]) if len(words) > 2 else 0, float(words[1]), int(words[0]) / 1000
                except (ValueError, IndexError) as error:
                    raise BigbatchError(f"{path}, line {number} is no point of MLflow: {line[:80]!r}") from error


class MlflowDatabase:
    """An SQLite database of MLflow, which is read only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._rows("SELECT 1 FROM experiments, runs, metrics LIMIT 0")
        except sqlite3.Error as error:
            raise NoMlflow(f"{path} is no database of MLflow: {error}") from error

    def experiments(self) -> Iterator[MlflowExperiment]:
        """Yield the experiments that are not deleted."""
        query = "SELECT experiment_id, name FROM experiments WHERE lifecycle_stage = 'active' ORDER BY experiment_id"
        yield from (MlflowExperiment(str(row[0]), str(row[1])) for row in self._rows(query))

    def runs(self, experiment: MlflowExperiment) -> Iterator[MlflowRun]:
        """Yield the runs of an experiment that are not deleted, the oldest first."""
        query = (
            "SELECT run_uuid, name, start_time, end_time FROM runs"
            " WHERE lifecycle_stage = 'active' AND experiment_id = ? ORDER BY start_time, run_uuid"
        )
        for run_id, name, started, ended in self._rows(query, experiment.id):
            params = dict(self._rows("SELECT key, value FROM params WHERE run_uuid = ?", run_id))
            tags = dict(self._rows("SELECT key, value FROM tags WHERE run_uuid = ?", run_id))
            metrics = self._rows("SELECT DISTINCT key FROM metrics WHERE run_uuid = ? ORDER BY key", run_id)
            yield MlflowRun(run_id, name or "", started, ended, params, tags, [row[0] for row in metrics])

    def points(self, run: MlflowRun, metric: str) -> Iterator[Point]:
        """Yield the points of a metric."""
        query = "SELECT step, value, timestamp, is_nan FROM metrics WHERE run_uuid = ? AND key = ?"
        for step, value, milliseconds, is_nan in self._rows(query, run.id, metric):
            yield step, number_of(None if is_nan else value), milliseconds / 1000

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as database:
            return database.execute(query, values).fetchall()


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        return read_document((folder / META).read_bytes())
    except (OSError, DocumentError) as error:
        raise BigbatchError(f"{folder / META} cannot be read: {error}") from error


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []


def _texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text(errors="replace").strip() for path in _files(folder)}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value else None
