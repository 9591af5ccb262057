"""Fields of the base that every point of the grid sets: the base need not repeat them."""

from collections.abc import Collection, Mapping
from typing import Any


def complete_base(document: Mapping[str, Any], required: Collection[str]) -> Mapping[str, Any]:
    """Return the document of an experiment whose base has the first value of each required field that it lacks.

    Only a field that variants, axes or a search set as a whole counts, such as `optimizer`, not `optimizer.momentum`.
    A document of another form is returned as it is, because the validation that follows names what is wrong.
    """
    base, variants, axes = (document.get(name) for name in ("base", "variants", "axes"))
    if not isinstance(base, Mapping):
        return document
    first = variants[0] if isinstance(variants, list) and variants and isinstance(variants[0], Mapping) else {}
    crossed = axes if isinstance(axes, Mapping) else {}
    values = {**first, **{path: listed[0] for path, listed in crossed.items() if isinstance(listed, list) and listed}}
    values |= _first_choices(document.get("search"))
    lacking = {path: value for path, value in values.items() if path in required and path not in base}
    return {**document, "base": {**base, **lacking}} if lacking else document


def _first_choices(search: Any) -> dict[str, Any]:
    """Return the first value of each parameter of a search that is a choice."""
    space = search.get("space") if isinstance(search, Mapping) else None
    listed = {
        path: parameter.get("values")
        for path, parameter in (space.items() if isinstance(space, Mapping) else ())
        if isinstance(parameter, Mapping)
    }
    return {path: values[0] for path, values in listed.items() if isinstance(values, list) and values}
