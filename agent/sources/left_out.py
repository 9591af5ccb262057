"""LeftOut: what a source could not read as a metric, as one line of the run's log says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPENING = "bigbatch: metrics of "  # of each line that the sources write; a source of output does not read such lines
MAX_EXAMPLE = 200  # characters
MAX_COUNT = 2**63 - 1


class LeftOut:
    """How much was left out, with the first example and its reason."""

    def __init__(self, count: int = 0, example: str = "", reason: str = "") -> None:
        self.count, self.example, self.reason = count, example, reason

    def add(self, example: str, reason: str, count: int = 1) -> None:
        """Count something that was left out; the first example remains."""
        if not self.count:
            self.example, self.reason = example[:MAX_EXAMPLE], reason
        self.count = min(self.count + count, MAX_COUNT)

    def include(self, later: LeftOut) -> None:
        """Add what was left out later."""
        if later.count:
            self.add(later.example, later.reason, later.count)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {"count": self.count, "example": self.example, "reason": self.reason}

    def message(self, source: str) -> str:
        """Return the line of the log; control characters of the example have escapes."""
        return f"{OPENING}{source}: {self.count:,} left out; the first one is {self.example!r}: {self.reason}"


def left_out_of(stored: Mapping[str, Any] | None) -> LeftOut:
    """Return what `as_dict` described; nothing for a damaged record."""
    try:
        fields = dict(stored or {})
        return LeftOut(int(fields["count"]), str(fields["example"]), str(fields["reason"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return LeftOut()
