"""Values of a point of a grid as text: collective=torus(rows=2) seed=0."""

import json
from collections.abc import Mapping
from typing import Any

PARAMETERS = "parameters."  # of a program; its user knows them without this prefix


def describe_values(values: Mapping[str, Any]) -> str:
    """Return the values of a point, such as `lr=0.1 seed=0`."""
    return " ".join(f"{path.removeprefix(PARAMETERS)}={describe_value(value)}" for path, value in values.items())


def describe_value(value: Any) -> str:
    """Return a value in one word: of a part with a kind its kind, with its other fields in brackets."""
    if isinstance(value, str):
        return value
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if isinstance(kind, str):
        others = [f"{name}={describe_value(field)}" for name, field in value.items() if name != "kind"]
        return kind + (f"({', '.join(others)})" if others else "")
    return json.dumps(value, separators=(",", ":"))
