"""The fields of a spec: its values that are no objects, by dotted path. Pure functions on JSON documents."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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


def _walk(value: object, path: str) -> Iterator[tuple[str, Leaf]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _walk(inner, f"{path}.{name}" if path else str(name))
    elif value is not None:
        yield path, leaf_of(value)
