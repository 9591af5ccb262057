"""The end of a series without finite values: its newest value and its first step."""

from math import isfinite, isnan
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from store.metrics import curves
from store.metrics.buckets import extent, in_buckets
from store.metrics.packing import Points
from store.metrics.series import SeriesState

BUCKETS = 200  # of one look at a series: a few looks find a step among any number of steps


class NotFinite(NamedTuple):
    """The newest points of a series, none of which is a finite number."""

    value: str  # of the newest one: nan, inf or -inf
    first_step: int


def word_of(value: float) -> str | None:
    """Return nan, inf or -inf; None for a finite number."""
    if isfinite(value):
        return None
    return "nan" if isnan(value) else "inf" if value > 0 else "-inf"


def end_of_points(points: Points, before: NotFinite | None) -> NotFinite | None:
    """Return the end of a series to which the points were added; `before`: the end that it had."""
    word = word_of(float(points.values[-1]))
    if word is None:
        return None
    finite = np.flatnonzero(np.isfinite(points.values))
    if not len(finite):
        return NotFinite(word, before.first_step if before else int(points.steps[0]))
    return NotFinite(word, int(points.steps[finite[-1] + 1]))


def end_of_series(db: Session, state: SeriesState, newest: float) -> NotFinite | None:
    """Return the end of a stored series with this newest value, by a few looks at its cells."""
    word, ends = word_of(newest), extent(state)
    if word is None or ends is None:
        return None
    (first, last), is_whole = ends, True
    while True:
        (found,) = in_buckets(db, [(state, first, last)], BUCKETS)
        finite = np.flatnonzero(found.cells.finite > 0)
        if not len(finite):
            assert is_whole  # a bucket with a finite value has one
            return NotFinite(word, ends[0])
        at = int(found.cells.number[finite[-1]])
        if found.width == 1:
            break
        first, last, is_whole = at * found.width, (at + 1) * found.width - 1, False
    columns, _ = curves.of_run(db, state.run_id, [state.name], after=at, limit=1)
    return NotFinite(word, columns[state.name][0][0])
