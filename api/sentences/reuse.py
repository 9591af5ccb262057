"""The sentence that says why a run took no finished run's result."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from contract.api.snapshots import Change, FileDifference, SnapshotDifferences
from contract.differences import Difference

HUNK = re.compile(r"@@ -[0-9]+(?:,[0-9]+)? \+([0-9]+)(?:,[0-9]+)? @@")
SHOWN = 3  # differences that the sentence names
MAX_VALUE = 60  # characters of a value


def miss_sentence(
    other: int, spec: Sequence[Difference], code: SnapshotDifferences | None, inputs: Sequence[str]
) -> str:
    """Return what differs from the finished run `other`: inputs, then code, then fields of the spec."""
    found = [*(f"the input '{name}' changed" for name in inputs), *_places(code), *map(_field, spec)]
    more = len(found) - SHOWN
    total = [f"{more} further difference{'' if more == 1 else 's'}"] if more > 0 else []
    return f"carried out: {', '.join([*found[:SHOWN], *total])} (against run {other})"


def changed_place(file: FileDifference) -> str:
    """Return which line of a file differs first, in the code of the run."""
    if file.change is Change.ADDED:
        return f"{file.path} is new"
    if file.change is Change.REMOVED:
        return f"{file.path} is not there"
    line = first_changed_line(file.diff or "")
    return f"{file.path} differs" if line is None else f"{file.path} line {line} differs"


def first_changed_line(diff: str) -> int | None:
    """Return the number of the first line that differs, in the second file; None without one."""
    number: int | None = None
    for line in diff.splitlines():
        if match := HUNK.match(line):
            number = int(match[1])
        elif number is not None and line[:1] in ("+", "-"):
            return number
        elif number is not None:
            number += 1
    return None


def _places(code: SnapshotDifferences | None) -> Iterator[str]:
    if code:
        yield from (changed_place(file) for file in code.files)
        yield from ["another file of the code differs"] * (code.total - len(code.files))


def _field(difference: Difference) -> str:
    return f"{difference.path} is {_value(difference.first)} and was {_value(difference.second)}"


def _value(value: Any) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 3]}..."
