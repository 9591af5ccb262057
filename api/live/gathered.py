"""Changes that are gathered for a while: a list of everything needs no event for each step of each run."""

import math
from collections.abc import Sequence

from store.changes import MAX_ROWS, ChangedRow

APART_S = 2.0  # between two events of a stream that follows everything


class Gathered:
    """The newest row of each run and experiment that changed since the last event."""

    def __init__(self) -> None:
        self.since = 0  # the version from which these rows changed
        self._rows: dict[tuple[int, int], ChangedRow] = {}
        self._at = -math.inf

    @property
    def rows(self) -> Sequence[ChangedRow]:
        """The rows."""
        return list(self._rows.values())

    @property
    def is_complete(self) -> bool:
        """Whether one event can say them."""
        return len(self._rows) <= MAX_ROWS

    def add(self, rows: Sequence[ChangedRow], since: int) -> None:
        """Add rows that changed from version `since` on."""
        if not self._rows:
            self.since = since
        self._rows |= {(row.experiment_id, row.run_id): row for row in rows}

    def is_due(self, moment: float) -> bool:
        """Return whether it is time for an event, at a moment in seconds."""
        return bool(self._rows) and moment - self._at >= APART_S

    def clear(self, moment: float) -> None:
        """Begin anew after an event."""
        self._rows, self._at = {}, moment
