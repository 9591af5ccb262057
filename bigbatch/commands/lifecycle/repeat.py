"""`bigbatch clone` and `extend`: submit with changes, and go on."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bigbatch.client import Client
from bigbatch.commands.options import FromStep, Json
from bigbatch.errors import BigbatchError
from bigbatch.terminal.output import format_count, print_json
from contract.api.responses import Created
from contract.spec.recorded.run import RecordedSpec
from contract.yaml_reader import DocumentError, read_document

Force = Annotated[bool, typer.Option("--force", help="Submit also if the cluster's report contradicts the resources.")]
Number = Annotated[int, typer.Argument(metavar="ID", help="Id of the experiment, or of the run with --run.")]
IsRun = Annotated[bool, typer.Option("--run", help="ID is the id of a run.")]


class WrongChange(BigbatchError):
    """An argument is not PATH=VALUE."""

    exit_code = 2


def clone(
    experiment_id: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="A field and its value, such as base.batch=512."),
    ] = None,
    *,
    force: Force = False,
    from_step: FromStep = None,
    as_json: Json = False,
) -> None:
    """Submit an experiment with changed fields, as a new experiment that names its origin."""
    with Client() as client:
        cloned = client.clone(experiment_id, read_changes(changes or []), force=force, from_step=from_step)
        print_created(client, cloned, as_json=as_json)


def extend(
    number: Number,
    run: IsRun = False,
    *,
    epochs: Annotated[int, typer.Option(min=0, help="With --run: this many epochs more.")] = 0,
    axes: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="PATH=[VALUES]", help="Further values of an axis: batch=[512,1024]."),
    ] = None,
    points: Annotated[
        list[str] | None, typer.Option("--point", metavar="{...}", help="A point: '{batch: 512, seed: 3}'.")
    ] = None,
) -> None:
    """Add points to an experiment, or with --run let a run that is done take more epochs."""
    with Client() as client:
        if run:
            _extend_run(client, number, epochs)
            return
        if epochs or not (axes or points):
            raise WrongChange("name points by --axis or --point, or with --run the epochs by --epochs")
        asked = [_value(f"point: {text}")["point"] for text in points or []]
        # one value is a list of one: a text would be taken apart otherwise
        asked_axes = read_changes(axes or [])
        values = {path: one if isinstance(one, list) else [one] for path, one in asked_axes.items()}
        added = client.add_points(number, axes=values, points=asked)
    print(
        f"experiment {number}: {format_count(len(added.runs), 'new run')}, {added.existing:,} points were there before"
    )


def read_changes(words: Sequence[str]) -> dict[str, Any]:
    """Return dotted path -> value for words such as base.batch=512, whose values are YAML; raise WrongChange."""
    changes = {}
    for word in words:
        path, equals, text = word.partition("=")
        if not (path and equals):
            raise WrongChange(f"'{word}' is not PATH=VALUE, such as base.batch=512")
        changes[path] = _value(f"value: {text}")["value"]
    return changes


def _value(line: str) -> dict[str, Any]:
    try:
        return read_document(line.encode())
    except DocumentError as error:
        raise WrongChange(f"{line.partition(': ')[2]!r} is no value: {error}") from error


def _extend_run(client: Client, number: int, epochs: int) -> None:
    if not epochs:
        raise WrongChange("say by --epochs how many epochs more the run shall take")
    spec = client.run(number).spec
    present = (None if isinstance(spec, RecordedSpec) else spec.total_epochs) or 0
    extended = client.extend_run(number, epochs=present + epochs)
    print(f"run {number} goes on from step {extended.from_step:,} to step {extended.steps:,} (epoch {extended.epochs})")


def print_created(client: Client, created: Created, *, as_json: bool) -> None:
    """Print the warnings of a new experiment, its id, the number of its runs, and its address."""
    for warning in created.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if as_json:
        print_json(created)
    else:
        runs = format_count(len(created.runs), "run")
        print(f"experiment {created.id}, {runs}: {client.experiment_url(created.id)}", flush=True)
