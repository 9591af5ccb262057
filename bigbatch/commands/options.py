"""The arguments and options that several commands share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bigbatch.errors import ApiError, BigbatchError

SpecFile = Annotated[str, typer.Argument(metavar="FILE", help="YAML or JSON file; - reads standard input.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Ids = Annotated[
    list[int],
    typer.Argument(metavar="EXPERIMENT...", help="Ids of experiments; with --run ids of runs."),
]
OfRuns = Annotated[bool, typer.Option("--run", help="The ids are of runs, and not of experiments.")]
FromStep = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="STEP",
        help="Of a workflow: carry out STEP and all steps that need it, although finished runs have equal results.",
    ),
]
Host = Annotated[str, typer.Option(help="Address to listen on; other than loopback only with BIGBATCH_TOKEN.")]
Port = Annotated[int, typer.Option(help="Port to listen on; 0: any free port.")]
Home = Annotated[Path | None, typer.Option(help="Folder of all stored files; default: BIGBATCH_HOME.")]
SnapshotMb = Annotated[float, typer.Option(min=0.001, help="Largest snapshot of a program's folder, in MB.")]


@contextmanager
def hint_of_runs(command: str, number: int, *, is_run: bool) -> Iterator[None]:
    """Say how a command takes the run with this id, where there is no experiment with it."""
    try:
        yield
    except ApiError as error:
        if error.status != 404 or is_run:
            raise
        raise BigbatchError(f"{error}; for run {number}: bigbatch {command} --run {number}") from error
