"""Fields of the base that every point of the grid sets: the base need not repeat them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

NAMED = ("parameters", "inputs", "outputs")  # fields of a program whose names are the user's own


def complete_base(document: Mapping[str, Any], required: Collection[str]) -> Mapping[str, Any]:
    """Return the document of an experiment whose base has the first value of each required field that it lacks.

    Only a field that variants, axes or a search set as a whole counts, such as `optimizer`, not `optimizer.momentum`;
    and of a program also each name among its parameters, inputs and outputs, to which its command may refer.
    A document of another form is returned as it is, because the validation that follows names what is wrong.
    """
    base, variants, axes = (document.get(name) for name in ("base", "variants", "axes"))
    if not isinstance(base, Mapping):
        return document
    first = variants[0] if isinstance(variants, list) and variants and isinstance(variants[0], Mapping) else {}
    crossed = axes if isinstance(axes, Mapping) else {}
    values = {**first, **{path: listed[0] for path, listed in crossed.items() if isinstance(listed, list) and listed}}
    space = _space_of(document.get("search"))
    values |= _first_choices(space)
    lacking = {path: value for path, value in values.items() if path in required and path not in base}
    if base.get("kind") != "program":
        return {**document, "base": {**base, **lacking}} if lacking else document
    conditional = {path for path, parameter in space.items() if parameter.get("only_if")}
    named = _first_numbers(space) | values
    completed: Any = {**base, **lacking}
    for path, value in named.items():
        if isinstance(path, str) and path.split(".")[0] in NAMED and path not in conditional:
            completed = _with_absent(completed, path.split("."), value)
    return document if completed == base else {**document, "base": completed}


def _with_absent(part: Any, path: Sequence[str], value: Any) -> Any:
    """Return a part of a document with a value at a path, if the part has none there; what is no object stays."""
    if not isinstance(part, Mapping) or (len(path) == 1 and path[0] in part):
        return part
    inner = value if len(path) == 1 else _with_absent(part.get(path[0], {}), path[1:], value)
    return {**part, path[0]: inner}


def _space_of(search: Any) -> dict[str, Mapping[str, Any]]:
    """Return the parameters of a search, as far as they have the form of parameters."""
    space = search.get("space") if isinstance(search, Mapping) else None
    parameters = space.items() if isinstance(space, Mapping) else ()
    return {path: parameter for path, parameter in parameters if isinstance(parameter, Mapping)}


def _first_choices(space: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the first value of each parameter of a search that is a choice."""
    listed = {path: parameter.get("values") for path, parameter in space.items()}
    return {path: values[0] for path, values in listed.items() if isinstance(values, list) and values}


def _first_numbers(space: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the least number, or the mean, of each parameter of a search that is a number."""
    listed = {path: parameter.get("low", parameter.get("mean")) for path, parameter in space.items()}
    return {path: number for path, number in listed.items() if number is not None}
