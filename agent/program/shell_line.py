"""Values in a line for bash: each becomes one literal argument, or a literal part of one, in every quoting.

The API checks a line before it accepts the run (`check_line` in placeholders.py), and the agent fills it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from agent.program.shell_places import (
    ANSI,
    BACKSLASH,
    BACKTICKS,
    EXPANSION,
    LITERAL_TEXT,
    PLAIN,
    TEXT,
    UNCLOSED,
    VARIABLE,
    Place,
    find_places,
)

ValueOf = Callable[["re.Match[str]"], str]
_MENDS = {
    VARIABLE: "stands after $, as a variable of bash: take the $ away, or write $name for the variable",
    BACKTICKS: "stands in backticks: write $( ) instead",
    EXPANSION: "stands within ${ }: store it in a variable first, as in `x={NAME}; echo ${x:-none}`",
    BACKSLASH: "stands after a backslash: take that away, because bash gets each value in quotes",
    UNCLOSED: "stands after a quote or parenthesis that is not closed, or after `case` in $( )",
}


class QuotingError(ValueError):
    """A value cannot stand at its place in a line for bash; the message says what to write instead."""


def fill_line(line: str, placeholder: re.Pattern[str], value_of: ValueOf) -> str:
    """Return the line with values in place of its placeholders, of which group 1 is the name; {{name}} has none.

    `value_of` gives the value, or for {{name}} the text. Raise QuotingError where a value cannot stand.
    """
    places = find_places(line, placeholder)

    def filled(found: re.Match[str]) -> str:
        if found[1] is None:
            return value_of(found)
        place = places.get(found.start())
        if place is None or place.kind == VARIABLE:
            return found[0]
        return quote(value_of(found), place, found[0])

    return placeholder.sub(filled, line)


def quote(value: str, place: Place, name: str) -> str:
    """Return the value as bash reads it literally at a place; `name` is the placeholder in the error's message."""
    if place.kind in _MENDS:
        raise QuotingError(f"{name} {_MENDS[place.kind]}")
    if place.kind in (TEXT, LITERAL_TEXT):
        if "\n" in value or value == place.last_line:
            raise QuotingError(f"{name} could end the here-document: read it from {{parameters_json}} instead")
        return re.sub(r"([\\$`])", r"\\\1", value) if place.kind == TEXT else value
    quoted = shlex.quote(value)
    if place.kind == PLAIN:
        return quoted
    end = "'" if place.kind == ANSI else place.kind  # the quotes end before the value, and begin again after it
    return f"{end}{quoted}{place.kind}"
