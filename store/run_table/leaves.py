"""The fields of a spec: its values that are no objects, by dotted path. Pure functions on JSON documents."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

PARAMETERS = "parameters."  # of a program: the only fields that may be objects by a user's choice
MAX_TEXT = 500  # characters of a value: a long list is no text to search for


class Leaf(NamedTuple):
    """A value as the table compares it: as a number, or as a text; neither for a field that is absent."""

    number: float | None
    text: str | None


ABSENT = Leaf(None, None)
Leaves = dict[str, Leaf]


def leaves(document: Mapping[str, Any]) -> Leaves:
    """Return the fields of a document; a field that is null is left out."""
    return dict(_walk(document, ""))


def different_leaves(document: Mapping[str, Any], base: Mapping[str, Any]) -> Leaves:
    """Return the fields of a document that differ from those of `base`, those that it lacks as ABSENT."""
    names = document.keys() | base.keys()
    # by their texts, because False equals 0
    changed = [name for name in sorted(names) if repr(document.get(name)) != repr(base.get(name))]
    own = leaves({name: document.get(name) for name in changed})
    before = leaves({name: base.get(name) for name in changed})
    different = {path: leaf for path, leaf in own.items() if before.get(path) != leaf}
    return different | {path: ABSENT for path in before if path not in own}


def leaf_of(value: object) -> Leaf:
    """Return a value that is no object and not null."""
    match value:
        case bool():
            return Leaf(None, str(value).lower())
        case int() | float():
            return Leaf(float(value), None)
        case str():
            return Leaf(None, value[:MAX_TEXT])
        case _:
            return Leaf(None, json.dumps(value)[:MAX_TEXT])


def within(path: str) -> tuple[str, str]:
    """Return the bounds of the paths inside an object: from the first on, and before the second."""
    return f"{path}.", f"{path}/"  # the sign after the dot


def object_of(path: str, found: Mapping[str, Leaf]) -> str | None:
    """Return an object as JSON, of the fields inside it by their whole paths; None without any."""
    document: dict[str, Any] = {}
    for inside, leaf in sorted(found.items()):
        if leaf == ABSENT:
            continue
        *above, name = inside.removeprefix(f"{path}.").split(".")
        place = document
        for part in above:
            place = place.setdefault(part, {})
        place[name] = _json_value(leaf)
    return json.dumps(document) if document else None


def _json_value(leaf: Leaf) -> object:
    if leaf.number is not None:
        return int(leaf.number) if leaf.number.is_integer() and abs(leaf.number) < 2**53 else leaf.number
    return {"true": True, "false": False}.get(leaf.text or "", leaf.text)


def _walk(value: object, path: str) -> Iterator[tuple[str, Leaf]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _walk(inner, f"{path}.{name}" if path else str(name))
    elif value is not None:
        yield path, leaf_of(value)
