"""Points: what runs report, stored in bulk."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.folder.bounds import MAX_SERIES
from contract.folder.events import Points
from contract.metric_names import KNOWN
from store import changes
from store.metrics import packing, series
from store.metrics.chunks import overlaid, write_points
from store.metrics.figures import update_figures
from store.metrics.newest import Newest
from store.metrics.objectives import follow_figures
from store.tables.points import Series

Lists = tuple[list[int], list[float]]  # steps and values, in the order in which they were reported
NAN = float("nan")


class Stored(NamedTuple):
    """What points have changed, by run."""

    newest: dict[int, Newest]  # the newest values that changed
    lost: dict[int, set[str]]  # the series whose newest value is no finite number any more


def put(db: Session, run_id: int, events: Sequence[Points]) -> None:
    """Store points of one run."""
    put_many(db, {run_id: events})


def put_many(db: Session, by_run: Mapping[int, Sequence[Points]]) -> Stored:
    """Store the points of many runs; a step that a resumed run repeats keeps the later value.

    Points of series beyond a run's limits are left out. Return the new newest values, as `put_columns` does, and which
    of them were numbers before.
    """
    if not any(by_run.values()):
        return Stored({}, {})
    known = series.known_ids(db, by_run)
    names: dict[int, set[str]] = {run_id: set(KNOWN) for run_id in by_run}
    for run_id, name in known:
        names[run_id].add(name)
    found: dict[tuple[int, str], Lists] = {}
    for run_id, events in by_run.items():
        found |= {(run_id, name): lists for name, lists in collected(events, names[run_id]).items()}
    return _put(db, found, known)


def put_columns(db: Session, found: Mapping[tuple[int, str], Lists]) -> dict[int, Newest]:
    """Store points of series, by run and name, each as steps and values that are not empty.

    Return by run the newest values that changed. The newest value of a series is that of its highest step, as in charts
    and tables, whatever came last.
    """
    return _put(db, found, series.known_ids(db, {run_id for run_id, _ in found})).newest if found else {}


def _put(db: Session, found: Mapping[tuple[int, str], Lists], known: Mapping[tuple[int, str], int]) -> Stored:
    newest, lost = dict[int, Newest](), dict[int, set[str]]()
    if not found:
        return Stored(newest, lost)
    ids = series.add_missing(db, found.keys(), known)
    new = {key: _arrays(*lists) for key, lists in found.items() if key in ids}
    leading = write_points(db, {ids[key]: points for key, points in new.items()})
    for run_id, name in update_figures(db, new):
        lost.setdefault(run_id, set()).add(name)
    follow_figures(db, new.keys())
    changes.record_points(db, {run_id for run_id, _ in new})
    for (run_id, name), points in new.items():
        if ids[run_id, name] in leading:
            last = float(points.values[-1])
            newest.setdefault(run_id, {})[name] = last if isfinite(last) else None
    return Stored(newest, lost)


def names(db: Session, run_id: int) -> list[str]:
    """Return the names of a run's series."""
    return list(db.scalars(select(Series.name).where(Series.run_id == run_id).order_by(Series.name)))


def collected(events: Iterable[Points], known: Collection[str]) -> dict[str, Lists]:
    """Return the points of a run by the names of its series, with at most MAX_SERIES names that are not in `known`.

    A run may report hundreds of thousands of names at once, and has no room for more of them.
    """
    own: dict[str, Lists] = {}
    room = MAX_SERIES
    for event in events:
        step = event.step
        for name, value in event.values.items():
            lists = own.get(name)
            if lists is None:
                if name not in known:
                    if not room:
                        continue
                    room -= 1
                lists = own[name] = ([], [])
            lists[0].append(step)
            lists[1].append(NAN if value is None else value)
    return own


def _arrays(steps: list[int], values: list[float]) -> packing.Points:
    points = packing.Points(np.array(steps, np.int64), np.array(values, np.float64))
    return overlaid(packing.NO_POINTS, points)
