"""`bigbatch import`: runs of TensorBoard, MLflow and Neptune become runs of this service."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.importing.imported_run import ImportedRun
from bigbatch.importing.mlflow_runs import open_mlflow, read_mlflow
from bigbatch.importing.neptune import find_projects, read_neptune
from bigbatch.importing.store import Import
from bigbatch.importing.tensorboard import read_tensorboard
from bigbatch.terminal.output import format_count

Name = Annotated[str, typer.Option(help="Name of the experiment; default: that at the source.")]
app = typer.Typer(
    name="import",
    help="Import runs of other trackers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("tensorboard")
def import_tensorboard(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with event files, also in folders below.")],
    *,
    name: Name = "",
) -> None:
    """Import TensorBoard's event files: each folder that has some becomes a run, its tags of scalars metrics."""
    place = folder.resolve()
    with Client() as client:
        runs = read_tensorboard(folder)
        first = next(runs)  # before an experiment is made for nothing
        _store(Import(client, name or place.name, f"TensorBoard: {place}"), client, _chain(first, runs))


@app.command("mlflow")
def import_mlflow(
    uri: Annotated[str, typer.Argument(metavar="URI", help="http://HOST:5000, a folder mlruns, or a file mlflow.db.")],
    *,
    experiment: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this experiment; repeat it.")
    ] = None,
) -> None:
    """Import the runs of MLflow: each of its experiments becomes an experiment."""
    source = open_mlflow(uri)
    found = list(source.experiments())
    if absent := set(experiment or []) - {one.name for one in found}:
        raise typer.BadParameter(f"MLflow has no experiment {sorted(absent)[0]!r}", param_hint="--experiment")
    with Client() as client:
        for one in found:
            if not experiment or one.name in experiment:
                runs = read_mlflow(source, one)
                if first := next(runs, None):
                    place = uri if "://" in uri else str(Path(uri).resolve())
                    _store(Import(client, one.name, f"MLflow: {place}"), client, _chain(first, runs))


@app.command("neptune")
def import_neptune(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of Parquet files that neptune-exporter wrote.")
    ],
    *,
    step_multiplier: Annotated[
        int, typer.Option(min=1, help="Multiply all steps, so that fractions become whole numbers.")
    ] = 1,
) -> None:
    """Import an export of Neptune: each project becomes an experiment."""
    projects = find_projects(folder)
    with Client() as client:
        for project in projects:
            target = Import(client, project.name, f"Neptune: {project.name}")
            _store(target, client, read_neptune(project, step_multiplier=step_multiplier))


def _chain(first: ImportedRun, rest: Iterable[ImportedRun]) -> Iterable[ImportedRun]:
    yield first
    yield from rest


def _store(target: Import, client: Client, runs: Iterable[ImportedRun]) -> None:
    """Store the runs, and print a line for each."""
    for stored in target.store(runs):
        there = "" if stored.is_new else " (it was there)"
        print(f"run {stored.id} {stored.run.name}: {format_count(stored.points, 'point')}{there}", flush=True)
        if stored.run.left_out:
            message = (
                f"{format_count(stored.run.left_out, 'value')} of run {stored.id} cannot be stored and is left out"
            )
            print(f"warning: {message}", file=sys.stderr)
    print(f"experiment {target.experiment_id}: {client.experiment_url(target.experiment_id)}")
