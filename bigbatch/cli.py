"""The `bigbatch` command: its parts by name, and every failure as one sentence."""

import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from bigbatch.commands.clusters import clusters
from bigbatch.commands.compare import compare
from bigbatch.commands.doctor import doctor
from bigbatch.commands.dry_run import dry_run
from bigbatch.commands.first_run import first_run
from bigbatch.commands.listing import listed, show
from bigbatch.commands.logs import logs
from bigbatch.commands.price import price
from bigbatch.commands.stop import stop
from bigbatch.commands.submit import submit
from bigbatch.commands.up import up
from bigbatch.commands.watch import watch
from bigbatch.commands.why import why
from bigbatch.errors import BigbatchError
from bigbatch.terminal.message import say

app = typer.Typer(
    name="bigbatch",
    help="Large-batch, distributed training experiments on Slurm clusters. The service is found at BIGBATCH_URL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "up": up,
    "first-run": first_run,
    "dry-run": dry_run,
    "submit": submit,
    "list": listed,
    "show": show,
    "watch": watch,
    "logs": logs,
    "stop": stop,
    "why": why,
    "clusters": clusters,
    "doctor": doctor,
    "price": price,
    "compare": compare,
}
for name, command in COMMANDS.items():
    app.command(name)(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Carry out one command and leave the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a log may hold what this terminal cannot show
    try:
        app(arguments, prog_name="bigbatch")
    except Exception as error:
        if os.environ.get("BIGBATCH_DEBUG") == "1":
            raise
        ours = isinstance(error, BigbatchError)
        say(str(error) if ours else f"{type(error).__name__}: {error} (BIGBATCH_DEBUG=1 shows where)")
        sys.exit(error.exit_code if isinstance(error, BigbatchError) else 1)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"bigbatch {version('bigbatch')}")
        raise typer.Exit()


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that stand before a command."""


if __name__ == "__main__":
    main()
