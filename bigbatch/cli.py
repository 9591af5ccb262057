"""The `bigbatch` command: its subcommands, and one-line messages for all errors."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from bigbatch.commands import imports, notify, schedule, sweep
from bigbatch.commands.clusters import clusters
from bigbatch.commands.compare import compare
from bigbatch.commands.dedup import dedup
from bigbatch.commands.diff import diff
from bigbatch.commands.doctor import doctor
from bigbatch.commands.dry_run import dry_run
from bigbatch.commands.exports.artifacts import artifacts
from bigbatch.commands.exports.mlflow import export_mlflow
from bigbatch.commands.exports.points import export_points
from bigbatch.commands.exports.runs import export_runs
from bigbatch.commands.first_run import first_run
from bigbatch.commands.lifecycle.backup import backup, restore
from bigbatch.commands.lifecycle.delete import delete, deleted_items
from bigbatch.commands.lifecycle.labels import archive, assign, leave_out, note, rename, tag
from bigbatch.commands.lifecycle.orphans import orphans
from bigbatch.commands.lifecycle.repeat import clone, extend
from bigbatch.commands.lifecycle.retry import retry
from bigbatch.commands.listing import list_experiments, search, show
from bigbatch.commands.logs import logs
from bigbatch.commands.planning.plan import plan
from bigbatch.commands.price import price
from bigbatch.commands.program.export import export
from bigbatch.commands.program.run import run
from bigbatch.commands.rerun import rerun
from bigbatch.commands.run_table import views
from bigbatch.commands.run_table.runs import runs
from bigbatch.commands.sign_in import sign_in
from bigbatch.commands.stop import stop
from bigbatch.commands.submit import submit
from bigbatch.commands.up import up
from bigbatch.commands.watch import watch
from bigbatch.commands.why import why
from bigbatch.errors import BigbatchError
from bigbatch.terminal.message import print_message
from bigbatch.terminal.streams import show_error, shown_streams
from contract.process_settings import hide_memory
from contract.user_home import NoHomeError, settle_account
from contract.validation import issues_of

app = typer.Typer(
    name="bigbatch",
    help="Large-batch, distributed training experiments on Slurm clusters. BIGBATCH_URL is the address of the service.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "up": up,
    "first-run": first_run,
    "sign-in": sign_in,
    "dry-run": dry_run,
    "run": run,
    "submit": submit,
    "export": export,
    "export-mlflow": export_mlflow,
    "export-points": export_points,
    "export-runs": export_runs,
    "list": list_experiments,
    "show": show,
    "watch": watch,
    "logs": logs,
    "artifacts": artifacts,
    "search": search,
    "runs": runs,
    "stop": stop,
    "retry": retry,
    "rerun": rerun,
    "clone": clone,
    "extend": extend,
    "rename": rename,
    "assign": assign,
    "note": note,
    "tag": tag,
    "archive": archive,
    "leave-out": leave_out,
    "delete": delete,
    "deleted": deleted_items,
    "why": why,
    "clusters": clusters,
    "doctor": doctor,
    "backup": backup,
    "restore": restore,
    "orphans": orphans,
    "price": price,
    "plan": plan,
    "dedup": dedup,
    "compare": compare,
    "diff": diff,
}
for name, command in COMMANDS.items():
    # without its own short help, a command's line in the list ends in the middle of the sentence
    app.command(name, short_help=(command.__doc__ or "").partition("\n")[0])(command)
app.command("resume", hidden=True)(retry)  # the earlier name of retry
app.add_typer(imports.app)
app.add_typer(notify.app)
app.add_typer(schedule.app)
app.add_typer(sweep.app)
app.add_typer(views.app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit the process with its exit code."""
    if arguments is None:  # the process is this command's own, and its environment may contain the token
        hide_memory()
        sys.excepthook = show_error
    with shown_streams():
        _run(arguments)


def _run(arguments: Sequence[str] | None) -> None:
    if Path(home := os.environ.get("BIGBATCH_HOME", "")).is_absolute():
        settle_account(Path(home))
    try:
        app(arguments, prog_name="bigbatch")
    except Exception as error:
        if os.environ.get("BIGBATCH_DEBUG") == "1":
            raise
        print_message(_words_of(error))
        sys.exit(error.exit_code if isinstance(error, BigbatchError) else 1)


def _words_of(error: Exception) -> str:
    """Return the message of an error; of one that no command expects, with its type."""
    if isinstance(error, ValidationError):  # of a request that the client did not send
        return "\n".join(f"{issue.path or 'request'}: {issue.message}" for issue in issues_of(error))
    if isinstance(error, BigbatchError | NoHomeError):
        return str(error)
    return f"{type(error).__name__}: {error} (set BIGBATCH_DEBUG=1 for the traceback)"


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
    """Accept the options before a subcommand."""


if __name__ == "__main__":
    main()
