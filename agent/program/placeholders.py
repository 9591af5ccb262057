"""Placeholders in a program's command: `{lr}` stands for the parameter `lr`, and `{{lr}}` for the text `{lr}`.

Only braces around a name are placeholders, so that JSON and shell blocks in a command need no escapes:
`{"a": {"b": 1}}` and `{ echo; }` stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

from agent.program.shell_line import QuotingError, fill_line, quote
from agent.program.shell_places import VARIABLE, find_places

NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
PLACEHOLDER = re.compile(rf"\{{\{{{NAME}\}}\}}|\{{({NAME})\}}")


def names_in(text: str) -> Iterator[str]:
    """Yield the name of each placeholder of a word, in order."""
    yield from (found[1] for found in PLACEHOLDER.finditer(text) if found[1])


def names_in_line(line: str) -> Iterator[str]:
    """Yield the name of each placeholder of a line for bash, where `${name}` is none."""
    for start, place in find_places(line, PLACEHOLDER).items():
        found = PLACEHOLDER.match(line, start)
        if found and place.kind != VARIABLE:
            yield found[1]


def check_line(line: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the places of placeholders in a line for bash, given the value of each."""
    for start, place in find_places(line, PLACEHOLDER).items():
        found = PLACEHOLDER.match(line, start)
        if found and found[1] in values:
            try:
                quote(as_text(values[found[1]]), place, found[0])
            except QuotingError as error:
                yield str(error)


def fill(text: str, values: Mapping[str, Any], *, is_shell: bool) -> str:
    """Return the text with the values in place of their placeholders; raise KeyError for a name without a value.

    `is_shell`: the text is a line for bash; raise QuotingError where a value cannot stand as a literal.
    """

    def value_of(found: re.Match[str]) -> str:
        return found[0][1:-1] if found[1] is None else as_text(values[found[1]])

    return fill_line(text, PLACEHOLDER, value_of) if is_shell else PLACEHOLDER.sub(value_of, text)


def as_text(value: Any) -> str:
    """Return a parameter's value as the command gets it: texts unchanged, fractions in digits, all others as JSON."""
    if isinstance(value, float):
        return _in_digits(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _in_digits(value: float) -> str:
    """Return a fraction without an exponent: argparse takes -1e-05 for an option, and -0.00001 for a number."""
    text = format(Decimal(repr(value)), "f")
    return text if "." in text or not isfinite(value) else f"{text}.0"


def flatten(parameters: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return every parameter by its dotted name, objects themselves too: {"a": {"b": 1}} gives a and a.b."""
    flat: dict[str, Any] = {}
    for name, value in parameters.items():
        flat[f"{prefix}{name}"] = value
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}.")
    return flat
