"""Which values of a field are equal: 1 and 1.0 are, but 1, "1" and true are three values."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def value_key(value: Any) -> str:
    """Return a text that is the same for equal values and another for all others."""
    return json.dumps(_plain(value), sort_keys=True, default=str)


def repeated_values(values: Sequence[Any]) -> Iterator[Any]:
    """Yield each value that is equal to an earlier value."""
    seen: set[str] = set()
    for value in values:
        if (key := value_key(value)) in seen:
            yield value
        seen.add(key)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    is_exact = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53
    return float(value) + 0.0 if is_exact else value  # the sum makes -0.0 equal to 0
