"""Values and names as a query has them: what these functions write, the language reads as the same value."""

import re

from contract.api.run_table import Cell

_PLAIN_WORD = re.compile(r"[A-Za-z_][\w.:/@-]*", re.ASCII)
# words that mean something else than themselves
_MEANINGS = frozenset(("null", "none", "nan", "inf", "infinity", "and", "or", "not", "in"))


def written_value(value: Cell) -> str:
    """Return a value of a field; a text is in quotes unless it is a plain word, and a quote in it is doubled."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if _PLAIN_WORD.fullmatch(value) and value.lower() not in _MEANINGS:
        return value
    return '"' + value.replace('"', '""') + '"'
