"""Placeholders in a program's command: `{lr}` stands for the parameter `lr`, and `{{lr}}` for the text `{lr}`.

Only braces around a name are placeholders, so that JSON and shell blocks in a command need no escapes:
`{"a": {"b": 1}}` and `{ echo; }` stay as they are.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
PLACEHOLDER = re.compile(rf"\{{\{{{NAME}\}}\}}|\{{({NAME})\}}")


def names_in(text: str) -> Iterator[str]:
    """Yield the name of each placeholder, in order."""
    yield from (found[1] for found in PLACEHOLDER.finditer(text) if found[1])


def fill(text: str, values: Mapping[str, Any], *, is_shell: bool) -> str:
    """Return the text with the values in place of their placeholders; raise KeyError for a name without a value.

    `is_shell`: the text is a line for a shell, so each value is quoted for the shell.
    """

    def value_of(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][1:-1]
        value = as_text(values[found[1]])
        return shlex.quote(value) if is_shell else value

    return PLACEHOLDER.sub(value_of, text)


def as_text(value: Any) -> str:
    """Return a parameter's value as the command gets it: texts unchanged, all other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def flatten(parameters: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return every parameter by its dotted name, objects themselves too: {"a": {"b": 1}} gives a and a.b."""
    flat: dict[str, Any] = {}
    for name, value in parameters.items():
        flat[f"{prefix}{name}"] = value
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}.")
    return flat
