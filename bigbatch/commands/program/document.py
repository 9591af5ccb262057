"""The experiment that the options of `bigbatch run` describe."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from bigbatch.errors import DocumentRefused
from bigbatch.sweeps.typed_values import read_typed, read_typed_list
from contract.validation import ValidationIssue

Document = dict[str, Any]
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")  # of a parameter, with those that it is in


def make_document(
    words: Sequence[str], *, labels: Document, resources: Document, sweep: Sequence[str], base: Document
) -> Document:
    """Return the experiment; `base` has further fields of the run, and labels without a value are left out."""
    command: Any = words[0] if len(words) == 1 and " " in words[0] else list(words)
    axes = dict(_parse_sweep(text) for text in sweep)
    run = {"kind": "program", "command": command, "resources": resources, **base}
    if axes:
        run["parameters"] = _nested({parameter: values[0] for parameter, values in axes.items()})
    given = {label: value for label, value in labels.items() if value}
    document: Document = {"name": shlex.join(words)[:200].replace("\n", " "), **given, "base": run}
    varied = {f"parameters.{parameter}": values for parameter, values in axes.items()}
    return {**document, "axes": varied} if varied else document


def unused_parameters(document: Mapping[str, Any]) -> list[str]:
    """Return the swept parameters that the command does not name: all runs would have one command."""
    base = document["base"]
    command = base["command"]
    text = command if isinstance(command, str) else " ".join(command)
    swept = [path.removeprefix("parameters.") for path in document.get("axes", {})]
    return [] if "{parameters_" in text else [name for name in swept if f"{{{name}}}" not in text]


def make_resources(on_slurm: bool, ranks_per_node: int, **options: Any) -> Document:
    """Return the resources; options that are None, and Slurm's options on one machine, are left out."""
    asked = {field: value for field, value in options.items() if value not in (None, {})}
    if on_slurm:
        return {"kind": "slurm", "ranks_per_node": ranks_per_node, **asked}
    gpus = {"gpus_per_rank": asked["gpus_per_rank"]} if "gpus_per_rank" in asked else {}
    for field, value in asked.items():
        if field != "gpus_per_rank" and not (field == "nodes" and value == 1):
            message = "this option needs Slurm: add --partition or --slurm"
            raise DocumentRefused("the options do not fit", [ValidationIssue(path=field, message=message)])
    return {"kind": "local", "ranks_per_node": ranks_per_node, **gpus}


def make_environment(*, venv: str | None, conda: str | None, container: str | None, **lists: Any) -> Document:
    """Return the environment; without a venv, conda or container the shell's active one counts."""
    if not (venv or conda or container):
        venv = os.environ.get("VIRTUAL_ENV")
        active = os.environ.get("CONDA_DEFAULT_ENV")
        conda = active if not venv and active != "base" else None
    found: Document = {name: value for name, value in lists.items() if value}
    found |= {"venv": os.path.abspath(os.path.expanduser(venv))} if venv else {}
    found |= {"conda": conda} if conda else {}
    return found | ({"container": {"image": container}} if container else {})


def make_objective(metric: str | None, *, goal: str | None, value: str | None) -> Document | None:
    """Return the objective; None without --objective."""
    if metric is None:
        if goal or value:
            message = "the option needs --objective METRIC"
            path = "--goal" if goal else "--objective-value"
            raise DocumentRefused("the options do not fit", [ValidationIssue(path=path, message=message)])
        return None
    chosen = {"goal": goal, "value": value}
    return {"metric": metric, **{name: str(one) for name, one in chosen.items() if one}}


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return {"A": "1"} for ["A=1"]."""
    return dict(_split(text, option) for text in texts)


def parse_sbatch(texts: Sequence[str]) -> dict[str, Any]:
    """Return options of sbatch; NAME alone is an option without a value."""
    named = [text.removeprefix("--").partition("=") for text in texts]
    return {name: _option_value(value) if sign else True for name, sign, value in named}


def _nested(values: Mapping[str, Any]) -> Document:
    """Return {"model": {"width": 3}} for {"model.width": 3}."""
    found: Document = {}
    for path, value in values.items():
        *above, name = path.split(".")
        for other in values:
            if other.startswith(f"{path}."):
                message = f"{path} is a parameter and has the parameter {other} in it: sweep one of them"
                raise DocumentRefused("the options do not fit", [ValidationIssue(path="--sweep", message=message)])
        inner = found
        for part in above:
            inner = inner.setdefault(part, {})
        inner[name] = value
    return found


def _check_name(name: str, values: str) -> None:
    """Raise DocumentRefused for a name that no parameter can have, with what to write; Hydra's `+a.b` is one."""
    if NAME.fullmatch(name):
        return
    plain = re.sub(r"[^A-Za-z0-9_.]+", "_", name).strip("._") or "value"
    plain = plain if NAME.fullmatch(plain) else f"p_{plain}".replace(".", "_")
    message = (
        f"{name!r} is no name of a parameter, which has letters, digits and _, and dots between its parts; "
        f"write --sweep {plain}={values[:60]} and in the command {name}={{{plain}}}"
    )
    raise DocumentRefused("an option cannot be read", [ValidationIssue(path="--sweep", message=message)])


def _parse_sweep(text: str) -> tuple[str, list[Any]]:
    name, values = _split(text, "--sweep")
    _check_name(name, values)
    try:
        return name, read_typed_list(values)
    except ValueError as error:
        raise DocumentRefused(
            "an option cannot be read", [ValidationIssue(path="--sweep", message=str(error))]
        ) from error


def _option_value(text: str) -> bool | int | str:
    """Return the value of an option of sbatch: a truth value, a whole number or the text as it was typed."""
    [value] = read_typed([text])
    return value if isinstance(value, bool | int) else text


def _split(text: str, option: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        issue = ValidationIssue(path=option, message=f"{text!r} is not NAME=VALUE")
        raise DocumentRefused("an option cannot be read", [issue])
    return name, value
