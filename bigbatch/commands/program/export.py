"""`bigbatch export`: print an experiment's spec as YAML, for `bigbatch submit`."""

from typing import Annotated, Any

import typer
from pydantic import BaseModel

from bigbatch.client import Client
from contract.spec.experiment import ExperimentSpec
from contract.spec.recorded.run import RecordedExperiment
from contract.yaml_writer import write_yaml


def export(
    experiment_id: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")],
    every_field: Annotated[bool, typer.Option("--all", help="Print fields with their default values too.")] = False,
) -> None:
    """Print an experiment's spec as YAML, for `bigbatch submit`."""
    with Client() as client:
        spec = client.experiment(experiment_id).spec
    print(write_yaml(spec.model_dump(mode="json") if every_field else without_defaults(spec)), end="")


def without_defaults(spec: ExperimentSpec | RecordedExperiment) -> dict[str, Any]:
    """Return the document with the fields that differ from their defaults, and every `kind`."""
    return _differing(spec)


def _differing(model: BaseModel) -> dict[str, Any]:
    whole, found = model.model_dump(mode="json"), {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if name == "kind" or field.is_required() or value != field.get_default(call_default_factory=True):
            found[name] = _plain(value, whole[name])
    return found


def _plain(value: Any, whole: Any) -> Any:
    if isinstance(value, BaseModel):
        return _differing(value)
    if isinstance(value, list):
        return [_plain(one, whole_one) for one, whole_one in zip(value, whole, strict=True)]
    return whole
