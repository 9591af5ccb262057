"""Cells of comma-separated values: a text that begins as a formula would be carried out by a spreadsheet."""

import re
from typing import TypeVar

T = TypeVar("T")
# also after apostrophes, so that csv_text can tell what csv_cell has added; the wide forms count in East Asia
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def csv_cell(value: T) -> T | str:
    """Return the value of a cell: a text that begins as a formula gets an apostrophe; numbers stay as they are."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) and not _is_number(value) else value


def csv_text(cell: str) -> str:
    """Return the text of a cell that `csv_cell` has made."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isprintable()
