"""The divergence tick: running runs whose loss leaves the band of the other runs of their group.

Only runs of experiments for which a rule wants anomalies are looked at, and each only once it, or its group, has come
further. A tick ends after BUDGET_S; the next one begins with the runs that wait longest.
"""

import logging
import time

from sqlalchemy import select
from sqlalchemy.orm import Session

from scheduler.context import Context
from scheduler.notify.divergence import POINTS, SIBLINGS, Beyond, leaves_band
from scheduler.search.curve import Curve
from store.metrics import curves
from store.notify import divergences
from store.notify.divergences import Candidate
from store.notify.moves import is_loss
from store.session import snapshot, transaction
from store.tables.runs import Run

BUDGET_S = 1.0
MOST_SIBLINGS = 16  # with which a run is compared: those that are furthest
MOST_SERIES = 3  # losses of a run
WIDTH = 10  # a sibling's point counts so many spans of the run's points before the first of them
log = logging.getLogger(__name__)


def find_divergences(context: Context) -> None:
    """Note the runs that have left the bands of their groups. A fault of one does not hold up the others."""
    until = time.monotonic() + BUDGET_S
    with snapshot(context.engine) as db:
        found = divergences.candidates(db)
    seen = context.memory.curves_seen
    for gone in set(seen) - {run.id for run in found}:
        del seen[gone]
    for run in sorted(found, key=lambda run: seen.get(run.id, (0, 0))[0]):
        context.memory.note_progress("divergence")
        try:
            _look(context, run)
        except Exception:
            log.exception("the curves of run %d could not be compared", run.id)
        if time.monotonic() > until:
            return


def _look(context: Context, run: Candidate) -> None:
    with snapshot(context.engine) as db:
        others = divergences.siblings(db, run, MOST_SIBLINGS)
        if len(others) < SIBLINGS:
            return
        end = min(run.step, others[SIBLINGS - 1].step)  # enough of the group have got there
        looks, before = context.memory.curves_seen.get(run.id, (0, -1))
        context.memory.curves_seen[run.id] = (looks + 1, before)  # a run whose comparison fails waits behind the others
        if before == end:
            return
        found = _compare(db, run, [other.id for other in others if other.step >= end], end)
    if found is not None:
        name, point = found
        with transaction(context.engine) as db:
            divergences.store(db, run.id, name, point.step, _text(name, point))
    context.memory.curves_seen[run.id] = (looks + 1, end)


def _compare(db: Session, run: Candidate, others: list[int], end: int) -> tuple[str, Beyond] | None:
    latest = db.scalars(select(Run.latest).where(Run.id == run.id)).one()
    for name in sorted((name for name in latest if is_loss(name)), key=lambda name: (len(name), name))[:MOST_SERIES]:
        own = Curve(*curves.newest(db, run.id, name, end=end, count=POINTS))
        if len(own.steps) < POINTS:
            continue
        first, last = own.steps[0], own.steps[-1]
        span = WIDTH * (last - first + 1)
        around = curves.between(db, others, name, first=first - span, last=last)
        if (point := leaves_band(own, [Curve(*each) for each in around])) is not None:
            return name, point
    return None


def _text(name: str, point: Beyond) -> str:
    values = f"{name} {point.value:.4g} at step {point.step:,}, beyond {point.end:.4g}"
    return f"{values}; the median of {point.others} other runs is {point.median:.4g}"
