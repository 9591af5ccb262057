"""The fields of the specs that are stored already, and the figures of their points: what revision 0016 adds."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from store.run_table.leaves import Leaves, different_leaves, leaves

BATCH = 500  # specs in memory at once
FIGURES = """
    INSERT INTO figures (name, run_id, last_step, size, least, most, mean)
    SELECT series.name, series.run_id, max(points.step), count(points.value), min(points.value), max(points.value),
      avg(points.value)
    FROM series JOIN points ON points.series_id = series.id
    WHERE series.name NOT LIKE '%/rank-%' GROUP BY series.id, series.name, series.run_id
"""
LAST = """
    UPDATE figures SET last = (
      SELECT points.value FROM series JOIN points ON points.series_id = series.id
      WHERE series.run_id = figures.run_id AND series.name = figures.name AND points.step = figures.last_step
    )
"""


def add_fields(db: sa.Connection) -> None:
    """Store the fields of all experiments and runs."""
    bases: dict[int, Mapping[str, Any]] = {}
    for experiment_id, spec in _specs(db, "experiments"):
        bases[experiment_id] = spec.get("base", {})
        _insert(db, "experiment", [(experiment_id, leaves(bases[experiment_id]))])
    owners = dict(map(tuple, db.execute(sa.text("SELECT id, experiment_id FROM runs"))))
    for run_id, spec in _specs(db, "runs"):
        _insert(db, "run", [(run_id, different_leaves(spec, bases.get(owners[run_id], {})))])


def add_figures(db: sa.Connection) -> None:
    """Store what the points of each series sum up to."""
    db.execute(sa.text(FIGURES))
    db.execute(sa.text(LAST))


def _specs(db: sa.Connection, table: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    after, query = -1, sa.text(f"SELECT id, spec FROM {table} WHERE id > :after ORDER BY id LIMIT {BATCH}")
    while rows := db.execute(query, {"after": after}).all():
        for row in rows:
            yield row.id, json.loads(row.spec) if isinstance(row.spec, str) else row.spec
        after = rows[-1].id


def _insert(db: sa.Connection, of: str, found: Iterable[tuple[int, Leaves]]) -> None:
    rows = [
        {"owner": owner, "path": path, "number": leaf.number, "text": leaf.text}
        for owner, own in found
        for path, leaf in own.items()
    ]
    if rows:
        columns = f"path, {of}_id, number, text"
        db.execute(sa.text(f"INSERT INTO {of}_fields ({columns}) VALUES (:path, :owner, :number, :text)"), rows)
