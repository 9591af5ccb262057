"""Figures: the last, least, greatest and mean value of each series, for tables that cannot read the points of all runs.

The figures of a run's series sum up its stored points. They stay when retention removes the points.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from sqlalchemy import delete, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from contract.lifecycle.divergence import Diverged, divergence_of
from contract.lifecycle.state import State
from contract.metric_names import LOSS, is_secondary
from contract.spec.objective import Objective
from store.insert import insert_into
from store.metrics import series
from store.metrics.buckets import extent, in_buckets
from store.metrics.cell_blocks import FAR
from store.metrics.cells import Cells, cells_of, wider
from store.metrics.not_finite import NotFinite, end_of_points, end_of_series
from store.metrics.packing import Points
from store.tables.points import Figure, Series
from store.tables.runs import Run

Key = tuple[int, str]  # run and name of the series


class _Sum(NamedTuple):
    """A row of figures without its key."""

    last_step: int
    last: float | None
    size: int
    least: float | None
    most: float | None
    mean: float | None
    not_finite: str | None = None
    not_finite_from: int | None = None

    @property
    def end(self) -> NotFinite | None:
        """The newest points, if none of them is a finite number."""
        if self.not_finite is None or self.not_finite_from is None:
            return None
        return NotFinite(self.not_finite, self.not_finite_from)

    def ending(self, end: NotFinite | None) -> "_Sum":
        """Return the row with this end."""
        word, first_step = end or (None, None)
        return self._replace(not_finite=word, not_finite_from=first_step)


def update_figures(db: Session, new: Mapping[Key, Points]) -> set[Key]:
    """Add points, which are stored already, to the figures of their series.

    Return the series whose newest value is no finite number now, and was one before or was none at all.

    Points of later steps than the stored ones are added to the sums. Where an attempt repeats a step, the figures are
    made anew from the cells of the series.
    """
    new = {key: points for key, points in new.items() if not is_secondary(key[1])}
    if not new:
        return set()
    known = _known(db, list(new))
    repeated = [key for key, points in new.items() if key in known and points.steps[0] <= known[key].last_step]
    later = new.keys() - repeated
    sums = {key: _extended(known.get(key), new[key]) for key in later}
    sums |= _summed_again(db, repeated)
    _store(db, sums)
    ends = {key: known[key].end if key in known else None for key in sums}
    store_divergences(db, sorted({run_id for run_id, name in sums if ends[run_id, name] != sums[run_id, name].end}))
    return {key for key, one in sums.items() if one.last is None and (key not in known or known[key].last is not None)}


def store_divergences(db: Session, run_ids: Sequence[int]) -> None:
    """Store of each run where it diverged: by the metric that has had no finite value for the longest time.

    A metric that is finite again has not diverged. A run that failed for a number that is not finite has, also where no
    metric shows it.
    """
    if not run_ids:
        return
    query = select(Figure.run_id, Figure.not_finite_from, Figure.name, Figure.not_finite)
    ends: dict[int, list[tuple[int, bool, str, str]]] = {}
    for run_id, step, name, word in db.execute(
        query.where(Figure.run_id.in_(run_ids), Figure.not_finite_from.is_not(None))
    ):
        assert step is not None
        assert word is not None
        ends.setdefault(run_id, []).append((step, name != LOSS, name, word))
    for run_id, state, reason, step, stored in db.execute(
        select(Run.id, Run.state, Run.reason, Run.step, Run.diverged).where(Run.id.in_(run_ids))
    ).all():
        found = divergence_of(reason, step) if state is State.FAILED else None
        if run_id in ends:
            first, _, name, word = min(ends[run_id])
            found = Diverged(metric=name, step=first, value=word)
        if found != stored:
            db.execute(update(Run).where(Run.id == run_id).values(diverged=found))


def read_means(db: Session, run_ids: Sequence[int], names: Sequence[str]) -> dict[int, dict[str, float]]:
    """Return the means of series over all steps of the runs; a series without a finite value has none."""
    query = select(Figure.run_id, Figure.name, Figure.mean).where(Figure.run_id.in_(run_ids), Figure.name.in_(names))
    found: dict[int, dict[str, float]] = {}
    for run_id, name, mean in db.execute(query):
        if mean is not None:
            found.setdefault(run_id, {})[name] = mean
    return found


def figure_of(objective: Objective) -> InstrumentedAttribute[float | None]:
    """Return the column with the values of runs that count for an objective."""
    if objective.value == "last":
        return Figure.last
    return Figure.most if objective.maximizes else Figure.least


def read_best(db: Session, run_ids: Sequence[int], name: str, *, is_highest: bool) -> dict[int, float]:
    """Return the greatest value of a series of each run, or the least one; a series without a finite value has none."""
    column = Figure.most if is_highest else Figure.least
    query = select(Figure.run_id, column).where(Figure.run_id.in_(run_ids), Figure.name == name)
    return {run_id: value for run_id, value in db.execute(query) if value is not None}


def remove_figures(db: Session, run_id: int) -> None:
    """Remove the figures of a run."""
    db.execute(delete(Figure).where(Figure.run_id == run_id))


def _sum_of(last_step: int, cells: Cells) -> _Sum:
    one = wider(cells, int(cells.number[-1]) + 1)
    size, last = int(one.finite[0]), float(one.last[0])
    shown = last if isfinite(last) else None
    if not size:
        return _Sum(last_step, None, 0, None, None, None)
    return _Sum(last_step, shown, size, float(one.least[0]), float(one.most[0]), float(one.mean[0]))


def _extended(before: _Sum | None, points: Points) -> _Sum:
    """Return the row of a series to which points of later steps were added."""
    new = _sum_of(int(points.steps[-1]), cells_of(points, FAR))
    return _joined(before, new).ending(end_of_points(points, before.end if before else None))


def _joined(before: _Sum | None, new: _Sum) -> _Sum:
    if before is None or not before.size:
        return new
    if not new.size:
        return before._replace(last_step=new.last_step, last=new.last)
    assert before.least is not None
    assert before.most is not None
    assert before.mean is not None
    assert new.least is not None
    assert new.most is not None
    assert new.mean is not None
    size = before.size + new.size
    least, most = min(before.least, new.least), max(before.most, new.most)
    # each mean times its part: a difference of large values would have no room
    mean = before.mean * (before.size / size) + new.mean * (new.size / size)
    return _Sum(new.last_step, new.last, size, least, most, min(max(mean, least), most))


_COLUMNS = [getattr(Figure, name) for name in _Sum._fields]


def _known(db: Session, keys: Sequence[Key]) -> dict[Key, _Sum]:
    runs, names = {run_id for run_id, _ in keys}, {name for _, name in keys}
    query = select(Figure.run_id, Figure.name, *_COLUMNS).where(Figure.name.in_(names), Figure.run_id.in_(runs))
    return {(row[0], row[1]): _Sum._make(row[2:]) for row in db.execute(query)}


def _summed_again(db: Session, keys: Sequence[Key]) -> dict[Key, _Sum]:
    sums = {}
    for run_id in sorted({run_id for run_id, _ in keys}):
        names = [name for owner, name in keys if owner == run_id]
        found = series.states(db, Series.run_id == run_id, Series.name.in_(names))
        for each in in_buckets(db, [(state, 0, FAR) for state in found], 1):
            ends = extent(each.state)
            assert ends is not None  # a series with buckets has points
            newest = float(each.cells.last[-1])
            end = end_of_series(db, each.state, newest)
            sums[run_id, each.state.name] = _sum_of(ends[1], each.cells).ending(end)
    return sums


def _store(db: Session, sums: Mapping[Key, _Sum]) -> None:
    rows: list[dict[str, Any]] = [
        {"run_id": run_id, "name": name, **one._asdict()} for (run_id, name), one in sorted(sums.items())
    ]
    add = insert_into(db, Figure)
    change = {name: add.excluded[name] for name in _Sum._fields}
    db.execute(add.on_conflict_do_update(index_elements=["name", "run_id"], set_=change), rows)
