"""Dotted paths of the fields that a grid sets."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from contract.validation import ValidationIssue

MAX_PATH_PARTS = 20


def path_issues(where: str, path: str, fields: Sequence[str]) -> Iterator[ValidationIssue]:
    """Yield an issue if a dotted path cannot be a field of a run; `where`: its place in the document."""
    parts = path.split(".")
    if not all(parts):
        yield ValidationIssue(path=where, message=f"'{path}' is not a dotted path of a run's fields")
    elif len(parts) > MAX_PATH_PARTS:
        message = f"the path has {len(parts):,} parts, more than the limit of {MAX_PATH_PARTS}"
        yield ValidationIssue(path=where[:80], message=message)
    elif parts[0] not in fields:
        meant = get_close_matches(parts[0][:80], fields, n=1)
        if not meant and "parameters" in fields:
            meant = [f"parameters.{path[:80]}"]  # of the user's own program
        hint = f"did you mean '{meant[0]}'?" if meant else f"a run has {', '.join(fields)}"
        yield ValidationIssue(path=where[:200], message=f"unknown field; {hint}")


def overlap(path: str, other: str) -> bool:
    """Return whether one of the fields is the other, or a part of it."""
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")
