"""Lists that a step writes, from which a later step gets its runs: a JSON list, or one value on each line."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contract.folder.files.untrusted_file import UnreadableFileError, read_file
from contract.spec.grid.grid import MAX_POINTS
from scheduler.workflow.resolve import NotResolvedError, NotWrittenError

MAX_BYTES = 32 * 2**20
NUMBER = re.compile(
    r"-?(0|[1-9]\d{0,17})(\.\d{1,30})?([eE][+-]?\d{1,2})?"
)  # a longer one would not be finite, or not exact


def read_list(folder: Path, name: str, *, reference: str) -> list[Any]:
    """Return the values of a list in a run folder; raise NotResolvedError, or OSError if the folder gives no answer."""
    try:
        content = read_file(folder, name, MAX_BYTES)
    except FileNotFoundError as error:
        raise NotWrittenError(f"{reference}: there is no file {folder}/{name}") from error
    except UnreadableFileError as error:
        raise NotResolvedError(f"{reference}: {folder}/{name} is not read: {error.strerror}") from error
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise NotResolvedError(f"{reference}: {folder}/{name} is no text in UTF-8") from error
    if "\0" in text or "\\u0000" in text:
        raise NotResolvedError(f"{reference}: {folder}/{name} has a NUL character, which no field of a run may have")
    return checked(parse_list(text, reference=reference), reference=reference)


def parse_list(text: str, *, reference: str) -> list[Any]:
    """Return the values of a JSON list, or the lines of any other text; raise NotResolvedError for other JSON."""
    if not text.lstrip().startswith(("[", "{")):
        return [_line_value(line.strip()) for line in text.splitlines() if line.strip()]
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise NotResolvedError(f"{reference}: the file begins as JSON and is none: {error}") from error
    if not isinstance(found, list):
        raise NotResolvedError(f"{reference}: the file has one JSON object, and a list is needed")
    return found


def _line_value(line: str) -> Any:
    """Return a line that is a number of JSON as a number, any other one as it is."""
    return json.loads(line) if NUMBER.fullmatch(line) else line


def checked(values: Sequence[Any], *, reference: str) -> list[Any]:
    """Return the values if they are as many as an experiment may have runs, and different; raise NotResolvedError."""
    if len(values) > MAX_POINTS:
        raise NotResolvedError(f"{reference} has {len(values):,} values, more than the limit of {MAX_POINTS:,} runs")
    return list(values)


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")
