"""the objectives of experiments, and of each run its value of it in place of the best accuracy

Revision ID: 0041
Revises: 0040
Create Date: 2026-12-01 12:30:00
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from contract.metric_direction import is_better_when_higher

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

COLUMNS = (sa.column("id", sa.Integer), sa.column("spec", sa.JSON), sa.column("objective", sa.JSON(none_as_null=True)))
EXPERIMENTS = sa.table("experiments", *COLUMNS)
RUNS = sa.table("runs", *(sa.column(name) for name in ("id", "experiment_id", "objective_value")))
FIGURES = sa.table("figures", *(sa.column(name) for name in ("run_id", "name", "last", "least", "most")))
ROWS = 100  # that are read at once: a spec may have megabytes
SUMMARY = ["experiment_id", "state", "step", "steps"]
ACCURACY = {"metric": "heldout_accuracy", "goal": "max", "value": "best"}


def upgrade() -> None:
    """Store the objective of each search, and of the engine its default, and the values of their runs."""
    op.add_column("experiments", sa.Column("objective", sa.JSON(), nullable=True))
    _rename("best_accuracy", "objective_value")
    connection, last = op.get_bind(), 0
    query = sa.select(EXPERIMENTS.c.id, EXPERIMENTS.c.spec).order_by(EXPERIMENTS.c.id).limit(ROWS)
    while rows := connection.execute(query.where(EXPERIMENTS.c.id > last)).all():
        for row in rows:
            objective = _objective(row.spec)
            if objective is not None:
                mine = sa.update(EXPERIMENTS).where(EXPERIMENTS.c.id == row.id)
                connection.execute(mine.values(objective=objective))
            if objective is None or not _is_accuracy(objective):
                connection.execute(_set_values(row.id, objective))
        last = rows[-1].id


def downgrade() -> None:
    """Store the best held-out accuracy of each run again."""
    connection = op.get_bind()
    for row in connection.execute(sa.select(EXPERIMENTS.c.id, EXPERIMENTS.c.objective)).all():
        if row.objective is None or not _is_accuracy(row.objective):
            connection.execute(_set_values(row.id, ACCURACY))
    _rename("objective_value", "best_accuracy")
    op.drop_column("experiments", "objective")


def _rename(old: str, new: str) -> None:
    op.drop_index("ix_runs_summary", "runs")
    op.execute(f"ALTER TABLE runs RENAME COLUMN {old} TO {new}")
    op.create_index("ix_runs_summary", "runs", [*SUMMARY, new, "deleted_at"])


def _objective(spec: dict[str, Any]) -> dict[str, Any] | None:
    """Return the objective of a spec of this time, without the models of later versions."""
    if search := spec.get("search"):
        metric, goal = search.get("metric", ACCURACY["metric"]), search.get("goal")
        maximizes = is_better_when_higher(metric) if goal is None else goal == "maximize"
        value = search.get("value", "best")
        return {"metric": metric, "goal": "max" if maximizes else "min", "value": value, "is_default": False}
    base = spec.get("base")
    bases = [base] if base is not None else [step.get("base", {}) for step in spec.get("steps", [])]
    is_engine = any(one.get("kind", "engine") == "engine" for one in bases)
    return {**ACCURACY, "is_default": True} if is_engine else None


def _is_accuracy(objective: dict[str, Any]) -> bool:
    return all(objective[name] == value for name, value in ACCURACY.items())


def _set_values(experiment_id: int, objective: dict[str, Any] | None) -> sa.Update:
    """Return the statement that gives the runs of an experiment their values; without an objective none."""
    mine = sa.update(RUNS).where(RUNS.c.experiment_id == experiment_id)
    if objective is None:
        return mine.where(RUNS.c.objective_value.is_not(None)).values(objective_value=None)
    best = FIGURES.c.most if objective["goal"] == "max" else FIGURES.c.least
    value = sa.select(FIGURES.c.last if objective["value"] == "last" else best)
    found = value.where(FIGURES.c.run_id == RUNS.c.id, FIGURES.c.name == objective["metric"])
    return mine.values(objective_value=found.scalar_subquery())
