"""Changes of an experiment's document: dotted paths set to values, and those that the grid makes void."""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from bigbatch.errors import DocumentRefused
from contract.spec.grid.dotted_paths import known_path
from contract.validation import ValidationIssue

Document = dict[str, Any]
# objects whose fields are dotted paths themselves
OF_PATHS = {"axes": ("axes",), "search.space": ("search", "space")}


def set_paths(document: Mapping[str, Any], changes: Mapping[str, Any]) -> Document:
    """Return a copy of the document with dotted paths set; raise DocumentRefused where a part of a path is no object.

    A program's parameter needs no `parameters.` among the axes and in the space of a search.
    """
    changed = deepcopy(dict(document))
    for path, value in changes.items():
        *parents, leaf = _parts(path, document)
        at = changed
        for number, parent in enumerate(parents):
            at = at.setdefault(parent, {})
            if not isinstance(at, dict):
                message = f"{'.'.join(parents[: number + 1])} has no fields"
                raise DocumentRefused("the change is not possible", [ValidationIssue(path=path, message=message)])
        at[leaf] = value
    return changed


def refuse_void_changes(origin: Mapping[str, Any], document: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Raise DocumentRefused for each change of the base in a field to which the document's grid gives other values."""
    issues = [
        ValidationIssue(path=f"base.{field}", message=_advice(place, field, value))
        for path, changed in changes.items()
        if path.startswith("base.")
        for field, value in _changed_fields(path.removeprefix("base."), changed, origin.get("base"))
        if (place := _place_in_grid(document, field))
    ]
    if issues:
        raise DocumentRefused("a change would have no effect", issues)


def _parts(path: str, document: Mapping[str, Any]) -> list[str]:
    """Return the names that lead to the field of a path."""
    for begin, parents in OF_PATHS.items():
        if path.startswith(f"{begin}."):
            known: Any = document
            for parent in parents:
                known = (known or {}).get(parent) or {}
            return [*parents, known_path(path.removeprefix(f"{begin}."), known)]
    return path.split(".")


def _changed_fields(path: str, value: Any, base: Any) -> Iterator[tuple[str, Any]]:
    """Yield a field with its new value, and those inside the value that differ from the ones in the base."""
    yield path, value
    inside = value.items() if isinstance(value, Mapping) else ()
    for name, inner in inside:
        if inner != _value_at(base, [*path.split("."), name]):
            yield from _changed_fields(f"{path}.{name}", inner, base)


def _value_at(document: Any, path: Sequence[str]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def _place_in_grid(document: Mapping[str, Any], field: str) -> str | None:
    """Return where the grid sets a field, or an object that has the field; None if the base decides."""
    names = field.split(".")
    for path in (".".join(names[:count]) for count in range(1, len(names) + 1)):
        if path in document["axes"]:
            return f"axes.{path}"
        if any(path in variant for variant in document["variants"]):
            return "variants"
        if path in (_value_at(document, ("search", "space")) or {}):
            return f"search.space.{path}"
    return None


def _advice(place: str, field: str, value: Any) -> str:
    """Return why a change of the base does nothing, and what to set in its place."""
    whole = json.dumps(value) if place.endswith(f".{field}") else "..."
    setting = {
        "axes": f"the axis gives every run another value: set {place}=[{whole}]",
        "variants": "the variants give every run another value: set variants=[...]",
        "search": f"the search gives every run another value: set {place}={{kind: choice, values: [{whole}]}}",
    }
    return setting[place.partition(".")[0]]
