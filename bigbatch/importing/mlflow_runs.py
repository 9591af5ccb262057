"""MLflow: the runs of a tracking server (its REST API), of a local folder `mlruns`, or of a file mlflow.db."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from bigbatch.importing.imported_run import ImportedRun, numbered
from bigbatch.importing.mlflow import MlflowExperiment, MlflowStore, NoMlflow
from bigbatch.importing.mlflow_server import MlflowServer
from bigbatch.importing.mlflow_stores import MlflowDatabase, MlflowFolder
from contract.shown_address import shown_address

NAME_TAG, NOTE_TAG = "mlflow.runName", "mlflow.note.content"
OWN_TAGS = "mlflow."  # a beginning of tags that MLflow itself sets


def open_mlflow(uri: str) -> MlflowStore:
    """Return the runs at a URI: http(s)://..., sqlite:///..., a folder or a database file; raise NoMlflow."""
    scheme = urlsplit(uri).scheme
    if scheme in ("http", "https"):
        return MlflowServer(uri)
    path = Path(uri.removeprefix("sqlite:///").removeprefix("file://"))
    if path.is_file():
        return MlflowDatabase(path)
    if path.is_dir():
        inner = path / "mlruns"
        return MlflowFolder(inner if inner.is_dir() else path)
    raise NoMlflow(
        f"{shown_address(uri)} is neither an address (http://...), nor a folder mlruns, nor a file mlflow.db"
    )


def read_mlflow(store: MlflowStore, experiment: MlflowExperiment) -> Iterator[ImportedRun]:
    """Yield the runs of an experiment with all their metrics."""
    for found in store.runs(experiment):
        run = ImportedRun(
            key=found.id,
            name=found.name or found.tags.get(NAME_TAG, ""),
            parameters=dict(found.params),
            tags=[f"{name}={value}" for name, value in found.tags.items() if not name.startswith(OWN_TAGS)],
            notes=found.tags.get(NOTE_TAG, ""),
            started_at=_seconds(found.started_ms),
            ended_at=_seconds(found.ended_ms),
        )
        for metric in found.metrics:
            for step, value, at in numbered(store.points(found, metric)):
                run.add(metric, step, value, at)
        yield run


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
