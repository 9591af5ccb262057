"""Figures: the last, least, greatest and mean value of each series, for tables that cannot read the points of all runs.

The figures of a run's series sum up its stored points. They stay when retention removes the points.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ForeignKey, Index, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from contract.metric_names import is_of_rank
from store.tables import Point, Series, Table

Key = tuple[int, str]  # run and name of the series
New = Mapping[Key, tuple[Sequence[int], Sequence[float | None]]]  # steps and values, in the order of the reports


class Figure(Table):
    """What the points of one series of a run sum up to, without the series of single ranks above 0."""

    __tablename__ = "figures"
    __table_args__ = (Index("ix_figures_run_id", "run_id"), {"sqlite_with_rowid": False})
    name: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    last_step: Mapped[int]
    last: Mapped[float | None]  # null: not a finite number
    size: Mapped[int] = mapped_column(BigInteger)  # of the finite values, to which the others belong
    least: Mapped[float | None]
    most: Mapped[float | None]
    mean: Mapped[float | None]


class _Sum(NamedTuple):
    """A row of figures without its key."""

    last_step: int
    last: float | None
    size: int
    least: float | None
    most: float | None
    mean: float | None


def update_figures(db: Session, new: New) -> None:
    """Add points, which are stored already, to the figures of their series.

    Points of later steps than the stored ones are added to the sums. Where an attempt repeats a step, the figures are
    made anew from all points of the series.
    """
    new = {key: points for key, points in new.items() if not is_of_rank(key[1]) and points[0]}
    if not new:
        return
    known = _known(db, list(new))
    repeated = [key for key, (steps, _) in new.items() if key in known and min(steps) <= known[key].last_step]
    sums = {key: _joined(known.get(key), _sum_of(*points)) for key, points in new.items() if key not in repeated}
    _store(db, sums | _summed_again(db, repeated))


def remove_figures(db: Session, run_id: int) -> None:
    """Remove the figures of a run."""
    db.execute(delete(Figure).where(Figure.run_id == run_id))


def _sum_of(steps: Sequence[int], values: Sequence[float | None]) -> _Sum:
    by_step = dict(zip(steps, values, strict=True))  # of a step that occurs twice, the later value counts
    last_step = max(by_step)
    finite = [value for value in by_step.values() if value is not None and isfinite(value)]
    last = by_step[last_step]
    if not finite:
        return _Sum(last_step, None, 0, None, None, None)
    mean = sum(value / len(finite) for value in finite)  # a sum of large values would have no room
    last = last if last is not None and isfinite(last) else None
    return _Sum(last_step, last, len(finite), min(finite), max(finite), mean)


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
    mean = before.mean + (new.mean - before.mean) * (new.size / size)
    return _Sum(new.last_step, new.last, size, min(before.least, new.least), max(before.most, new.most), mean)


_COLUMNS = [getattr(Figure, name) for name in _Sum._fields]


def _known(db: Session, keys: Sequence[Key]) -> dict[Key, _Sum]:
    runs, names = {run_id for run_id, _ in keys}, {name for _, name in keys}
    query = select(Figure.run_id, Figure.name, *_COLUMNS).where(Figure.name.in_(names), Figure.run_id.in_(runs))
    return {(row[0], row[1]): _Sum._make(row[2:]) for row in db.execute(query)}


def _summed_again(db: Session, keys: Sequence[Key]) -> dict[Key, _Sum]:
    sums = {}
    for run_id, name in keys:
        mine = (Series.run_id == run_id, Series.name == name)
        of_series = select(Point.step, Point.value).join(Series, Series.id == Point.series_id).where(*mine)
        rows = db.execute(of_series).all()
        sums[run_id, name] = _sum_of([row.step for row in rows], [row.value for row in rows])
    return sums


def _store(db: Session, sums: Mapping[Key, _Sum]) -> None:
    rows: list[dict[str, Any]] = [
        {"run_id": run_id, "name": name, **one._asdict()} for (run_id, name), one in sorted(sums.items())
    ]
    dialect = sqlite if db.get_bind().dialect.name == "sqlite" else postgresql
    add = dialect.insert(Figure)
    change = {name: add.excluded[name] for name in _Sum._fields}
    db.execute(add.on_conflict_do_update(index_elements=["name", "run_id"], set_=change), rows)
