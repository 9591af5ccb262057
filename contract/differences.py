"""The differences between two documents, by dotted path."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

ABSENT = object()


class Difference(NamedTuple):
    """A value that differs; None stands for an absent value too."""

    path: str
    first: Any
    second: Any


def differences(first: Mapping[str, Any], second: Mapping[str, Any], path: str = "") -> Iterator[Difference]:
    """Yield the values that differ, in the order of the first document; objects are compared by their fields."""
    for key in dict.fromkeys([*first, *second]):
        old, new = first.get(key, ABSENT), second.get(key, ABSENT)
        if isinstance(old, Mapping) and isinstance(new, Mapping) and _is_one_kind(old, new):
            yield from differences(old, new, f"{path}{key}.")
        elif not is_same(old, new):
            yield Difference(f"{path}{key}", *(None if value is ABSENT else value for value in (old, new)))


def is_same(old: Any, new: Any) -> bool:
    """Return whether two values are the same also for a program that reads them: 1, 1.0, true and "1" all differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(is_same(value, new[name]) for name, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    return type(old) is type(new) and bool(old == new)


def _is_one_kind(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether two objects are one choice: the fields of another choice mean something else."""
    return bool(old.get("kind") == new.get("kind"))
