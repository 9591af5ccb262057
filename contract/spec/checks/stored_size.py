"""Check of the bytes that an experiment stores: each point of the grid stores a complete spec and its axis values."""

import json
from typing import Any

from contract.validation import ValidationIssue

MAX_STORED_BYTES = 50_000_000  # 10,000 points of an ordinary run, of 2 KB, need 20 MB


def check_stored_size(base: dict[str, Any], columns: dict[str, list[Any]], *, points: int) -> ValidationIssue | None:
    """Return an issue that names the largest field if `points` specs exceed the limit, else None.

    `columns`: the values of each field that the grid sets, by its path in the document. A value replaces a field of the
    base, and is stored in the run's spec and again among the values of the run.
    """
    base_bytes = {f"base.{name}": _json_bytes(value) for name, value in base.items()}
    # the mean over the values: each is in points / len(values) points
    grid_bytes = {path: 2 * sum(map(_json_bytes, values)) // len(values) for path, values in columns.items()}
    fields = base_bytes | grid_bytes
    one = sum(fields.values())
    if points * one <= MAX_STORED_BYTES:
        return None
    largest = max(fields, key=lambda path: fields[path])
    total = f"{points:,} points x {one:,} bytes = {points * one:,} bytes of specs"
    message = (
        f"{total}, more than the limit of {MAX_STORED_BYTES:,}; this field has {fields[largest]:,} bytes per point"
    )
    return ValidationIssue(path=largest, message=message)


def _json_bytes(value: Any) -> int:
    return len(json.dumps(value, default=str))
