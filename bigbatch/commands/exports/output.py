"""The file of an export: complete or absent, and its format by its name."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Annotated, cast

import typer

from bigbatch.errors import BigbatchError
from bigbatch.export_client import Format
from bigbatch.terminal.streams import write_data

FORMATS = ("csv", "jsonl", "parquet")
Where = Annotated[
    str, typer.Argument(metavar="[WHERE]", help="A query: 'state = failed and batch > 256 and tag = lars'.")
]
Form = Annotated[
    str | None, typer.Option("--format", help="csv, jsonl or parquet; default: the ending of --output, else csv.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write; default: standard output.")]
OfExperiment = Annotated[int | None, typer.Option("--experiment", metavar="ID", help="Only runs of this experiment.")]
Archived = Annotated[bool, typer.Option("--archived", help="The archive, instead of what is not archived.")]


class WrongFormat(BigbatchError):
    """There is no such format."""

    exit_code = 2


def format_of(form: str | None, output: Path | None) -> Format:
    """Return the format; raise WrongFormat for one that does not exist."""
    named = output.suffix.removeprefix(".") if output else ""
    chosen = form or (named if named in FORMATS else "csv")
    if chosen not in FORMATS:
        raise WrongFormat(f"the format {chosen!r} does not exist; choose {', '.join(FORMATS)}")
    return cast(Format, chosen)


def write_output(output: Path | None, write: Callable[[IO[bytes]], int]) -> None:
    """Write a file as a whole: under its name it is complete, and after an error it is as before."""
    if output is None:
        write_data(write)
        return
    draft = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            size = write(file)
        draft.replace(output)
    except OSError as error:
        raise BigbatchError(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)
    print(f"{output}: {size:,} bytes", file=sys.stderr)
