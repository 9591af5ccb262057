"""`bigbatch export-mlflow`: send the runs of an experiment to an MLflow tracking server."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.importing.mlflow_server import MlflowServer
from bigbatch.mlflow_export import send_experiment
from bigbatch.terminal.output import format_count


def export_mlflow(
    experiment_id: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")],
    to: Annotated[str, typer.Option(metavar="URL", help="Address of the server, such as http://127.0.0.1:5000.")],
    *,
    name: Annotated[str, typer.Option(help="Name of the experiment there; default: its name here.")] = "",
) -> None:
    """Send the runs of an experiment to MLflow; a repeated call sends what is new."""
    if not to.startswith(("http://", "https://")):
        raise typer.BadParameter("name the server's address, such as http://127.0.0.1:5000", param_hint="--to")
    with Client() as client:
        sent = send_experiment(client, MlflowServer(to), experiment_id, name)
    print(
        f"{format_count(sent.runs, 'run')} ({sent.new_runs:,} new), {format_count(sent.points, 'point')} sent to {to}"
    )
