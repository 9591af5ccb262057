"""The arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

SpecFile = Annotated[str, typer.Argument(metavar="FILE", help="YAML or JSON file; - reads standard input.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
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
