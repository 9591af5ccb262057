"""Points: measured values, written in bulk and read as columns."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby, islice

from sqlalchemy import and_, bindparam, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from contract.folder.bounds import MAX_RANK_SERIES, MAX_SERIES
from contract.folder.events import Points
from contract.metric_names import HELDOUT_ACCURACY, is_of_rank
from store.metrics.figures import update_figures
from store.tables import Point, Run, Series, Table

Columns = dict[str, tuple[list[int], list[float | None]]]


def put(db: Session, run_id: int, events: Sequence[Points]) -> None:
    """Store points of one run."""
    put_many(db, {run_id: events})


def put_many(db: Session, by_run: Mapping[int, Sequence[Points]]) -> None:
    """Store the points of many runs, in three statements; a step that a resumed run repeats keeps the later value.

    Points of a run's series beyond MAX_SERIES are left out.
    """
    values = {
        (run_id, name, event.step): value
        for run_id, events in by_run.items()
        for event in events
        for name, value in event.values.items()
    }
    if not values:
        return
    wanted = {(run_id, name) for run_id, name, _ in values}
    series = _known_series(db, list(by_run))
    if missing := _within_limit(sorted(wanted - series.keys()), series.keys()):
        add = insert_into(db, Series).on_conflict_do_nothing(index_elements=["run_id", "name"])
        db.execute(add, [{"run_id": run_id, "name": name} for run_id, name in missing])
        series = _known_series(db, list(by_run))
    rows = [
        {"series_id": series[run_id, name], "step": step, "value": value}
        for (run_id, name, step), value in values.items()
        if (run_id, name) in series
    ]
    point = insert_into(db, Point)
    db.execute(
        point.on_conflict_do_update(index_elements=["series_id", "step"], set_={"value": point.excluded.value}), rows
    )
    update_figures(db, _lists({key: value for key, value in values.items() if key[:2] in series}))
    accuracies = {(run_id, v) for (run_id, name, _), v in values.items() if name == HELDOUT_ACCURACY and v is not None}
    _store_best_accuracies(db, sorted(accuracies))


def _lists(
    values: Mapping[tuple[int, str, int], float | None],
) -> dict[tuple[int, str], tuple[list[int], list[float | None]]]:
    """Return steps and values by run and name."""
    lists: dict[tuple[int, str], tuple[list[int], list[float | None]]] = {}
    for (run_id, name, step), value in values.items():
        steps, found = lists.setdefault((run_id, name), ([], []))
        steps.append(step)
        found.append(value)
    return lists


def _store_best_accuracies(db: Session, accuracies: Sequence[tuple[int, float]]) -> None:
    """Store the highest accuracy of each run: lists show it, and cannot read the points of all their runs."""
    if not accuracies:
        return
    run = Run.__table__
    is_better = or_(run.c.best_accuracy.is_(None), run.c.best_accuracy < bindparam("new"))
    change = update(run).where(run.c.id == bindparam("run"), is_better).values(best_accuracy=bindparam("new"))  # type: ignore[arg-type]  # mypy sees FromClause
    best = dict(accuracies)  # of one run the last pair is the highest
    db.connection().execute(change, [{"run": run_id, "new": value} for run_id, value in best.items()])


def _within_limit(missing: Sequence[tuple[int, str]], known: Collection[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the series, by run and name, with which no run has more than MAX_SERIES.

    Series of ranks above 0 are added only to a run with fewer than MAX_RANK_SERIES, so that the others have room.
    """
    counts, added = Counter(run_id for run_id, _ in known), []
    for run_id, name in missing:
        if counts[run_id] < (MAX_RANK_SERIES if is_of_rank(name) else MAX_SERIES):
            counts[run_id] += 1
            added.append((run_id, name))
    return added


def names(db: Session, run_id: int) -> list[str]:
    """Return the names of a run's series."""
    return list(db.scalars(select(Series.name).where(Series.run_id == run_id).order_by(Series.name)))


def of_run(db: Session, run_id: int, names: Sequence[str], *, after: int, limit: int) -> tuple[Columns, bool]:
    """Return columns of one run's series beyond step `after`, and whether there are more than `limit` points.

    A cut falls between two steps, so the last step is the next `after`.
    """
    query = (
        select(Series.name, Point.step, Point.value)
        .join(Point, Point.series_id == Series.id)
        .where(Series.run_id == run_id, Series.name.in_(names), Point.step > after)
        .order_by(Point.step)
        .limit(limit + 1)
    )
    rows = db.execute(query).all()
    more = len(rows) > limit
    last = rows[limit].step if more else None  # perhaps cut: the next answer repeats it
    columns: Columns = {name: ([], []) for name in names}
    for name, step, value in rows:
        if step != last:
            columns[name][0].append(step)
            columns[name][1].append(value)
    return columns, more


def of_experiment(
    db: Session, run_ids: Sequence[int], name: str, *, after: Mapping[int, int], limit: int
) -> tuple[dict[int, tuple[list[int], list[float | None]]], bool]:
    """Return one series of many runs, each beyond its own step in `after`, and whether there are more than `limit`."""
    fresh = or_(*(and_(Series.run_id == run_id, Point.step > after.get(run_id, -1)) for run_id in run_ids))
    query = (
        select(Series.run_id, Point.step, Point.value)
        .join(Point, Point.series_id == Series.id)
        .where(Series.name == name, fresh)
        .order_by(Series.run_id, Point.step)
        .limit(limit + 1)
    )
    rows = db.execute(query).all() if run_ids else []
    curves = {
        run_id: ([row.step for row in part], [row.value for row in part])
        for run_id, part in (
            (run_id, list(group)) for run_id, group in groupby(islice(rows, limit), lambda r: r.run_id)
        )
    }
    return curves, len(rows) > limit


def _known_series(db: Session, run_ids: Sequence[int]) -> dict[tuple[int, str], int]:
    rows = db.execute(select(Series.run_id, Series.name, Series.id).where(Series.run_id.in_(run_ids))).all()
    return {(row.run_id, row.name): row.id for row in rows}


def insert_into(db: Session, table: type[Table]) -> "sqlite.Insert | postgresql.Insert":
    """Return an INSERT that supports ON CONFLICT, which SQLAlchemy has per dialect."""
    return sqlite.insert(table) if db.get_bind().dialect.name == "sqlite" else postgresql.insert(table)
