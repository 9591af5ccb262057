"""Where stored runs diverged: what revision 0038 adds, from their points and from the reasons of their failures."""

import json
import re

import sqlalchemy as sa
from sqlalchemy.orm import Session

from store.metrics import series
from store.metrics.buckets import in_buckets
from store.metrics.cell_blocks import FAR
from store.metrics.not_finite import NotFinite, end_of_series
from store.tables.points import Series

FIGURES = sa.text("SELECT run_id, name, last_step FROM figures WHERE last IS NULL ORDER BY run_id, name")
END = sa.text(
    "UPDATE figures SET not_finite = :value, not_finite_from = :first_step WHERE run_id = :run_id AND name = :name"
)
FIRST = sa.text(
    "SELECT run_id, name, not_finite, not_finite_from FROM figures WHERE not_finite IS NOT NULL "
    "ORDER BY run_id, not_finite_from DESC, name = 'loss', name DESC"
)
FAILED = sa.text("SELECT id, step, reason FROM runs WHERE state = 'failed' AND reason IS NOT NULL")
RUNS = sa.table("runs", sa.column("id", sa.Integer), sa.column("diverged", sa.JSON))
# as contract/lifecycle/divergence.py had it at this revision
DIVERGENCE = re.compile(r"\bdiverged\b|\bloss (is|was|became) (not (a number|finite)|-?inf|nan)", re.IGNORECASE)
STEP = re.compile(r"\bstep (\d{1,9})\b")


def add_ends(connection: sa.Connection) -> None:
    """Store from which step on series have no finite value; of removed points only the last step is known."""
    with Session(connection, join_transaction_mode="rollback_only") as db:
        for run_id, name, last_step in connection.execute(FIGURES).all():
            end = _end(db, run_id, name) or NotFinite("nan", last_step)
            connection.execute(END, {"run_id": run_id, "name": name, **end._asdict()})


def _end(db: Session, run_id: int, name: str) -> NotFinite | None:
    found = series.states(db, Series.run_id == run_id, Series.name == name)
    for each in in_buckets(db, [(state, 0, FAR) for state in found], 1):
        return end_of_series(db, each.state, float(each.cells.last[-1]))
    return None


def add_divergences(connection: sa.Connection) -> None:
    """Store of each run the first of its metrics without finite values, else what the reason of its failure says."""
    found: dict[int, dict[str, object]] = {}
    for run_id, step, reason in connection.execute(FAILED):
        text = reason if isinstance(reason, str) else json.dumps(reason)
        if DIVERGENCE.search(text):
            named = STEP.search(text)
            found[run_id] = {"step": int(named[1]) if named else step}
    for run_id, name, word, first_step in connection.execute(FIRST):  # the last row of a run is its first end
        found[run_id] = {"metric": name, "step": first_step, "value": word}
    for run_id, diverged in found.items():
        connection.execute(sa.update(RUNS).where(RUNS.c.id == run_id).values(diverged=diverged))
