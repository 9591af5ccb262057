"""`bigbatch export`: print an experiment's spec as YAML, for `bigbatch submit`."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from bigbatch.client import Client
from bigbatch.commands.program.document import without_defaults
from contract.spec.any_run import read_run
from contract.spec.experiment import ExperimentSpec
from contract.yaml_writer import write_yaml

REQUIRED: dict[str, dict[str, Any]] = {  # of a run, so that the defaults of all other fields are known
    "program": {"kind": "program", "command": "true"},
    "engine": {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 1.0}, "batch": 1, "epochs": 1},
}


def export(
    experiment_id: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")],
    every_field: Annotated[bool, typer.Option("--all", help="Print fields with their default values too.")] = False,
) -> None:
    """Print an experiment's spec as YAML, for `bigbatch submit`."""
    with Client() as client:
        spec = client.experiment(experiment_id).spec
    document = spec.model_dump(mode="json") if isinstance(spec, ExperimentSpec) else dict(spec)
    if not every_field:
        document = _short(document)
    print(write_yaml(document), end="")


def _short(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without fields that have their default values."""
    base = document["base"]
    required = REQUIRED[base.get("kind", "engine")]
    defaults = {"description": "", "axes": {}, "max_parallel": None, "pack": None}
    short = {name: value for name, value in document.items() if name not in defaults or value != defaults[name]}
    plain = read_run({**required, "resources": {"kind": base["resources"]["kind"]}}).model_dump(mode="json")
    wanted = {name: base[name] for name in required if name in base}
    resources = without_defaults(base["resources"], plain["resources"])
    return {**short, "base": {**without_defaults(base, plain), **wanted, "resources": resources}}
