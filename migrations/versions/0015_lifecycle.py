"""lifecycle: notes, owner, project, tags, the archive and deletions; runs that go on after their end

Revision ID: 0015
Revises: 0014
Create Date: 2026-11-25 14:00:00
"""

from itertools import product

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

SUMMARY = ["experiment_id", "state", "step", "steps", "best_accuracy"]


def upgrade() -> None:
    for name in ("notes", "owner", "project"):
        op.add_column("experiments", sa.Column(name, sa.String(), nullable=False, server_default=""))
    op.add_column("experiments", sa.Column("origin_id", sa.Integer(), nullable=True))
    op.add_column("experiments", sa.Column("added_points", sa.JSON(), nullable=True))
    op.add_column("runs", sa.Column("notes", sa.String(), nullable=False, server_default=""))
    op.add_column("runs", sa.Column("retries_after", sa.Integer(), nullable=False, server_default="0"))
    for table in ("experiments", "runs"):
        for name in ("archived_at", "deleted_at"):
            op.add_column(table, sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    for name in ("owner", "project"):
        op.create_index(f"ix_experiments_{name}", "experiments", [name, "id"])
    for table, name in product(("experiments", "runs"), ("archived_at", "deleted_at")):
        where = sa.text(f"{name} IS NOT NULL")
        op.create_index(f"ix_{table}_{name}", table, [name], sqlite_where=where, postgresql_where=where)
    op.drop_index("ix_runs_summary", "runs")
    op.create_index("ix_runs_summary", "runs", [*SUMMARY, "deleted_at"])
    for of in ("experiment", "run"):
        op.create_table(
            f"{of}_tags",
            sa.Column(f"{of}_id", sa.Integer(), nullable=False, autoincrement=False),
            sa.Column("tag", sa.String(), nullable=False),
            sa.ForeignKeyConstraint([f"{of}_id"], [f"{of}s.id"], name=op.f(f"fk_{of}_tags_{of}_id")),
            sa.PrimaryKeyConstraint(f"{of}_id", "tag", name=op.f(f"pk_{of}_tags")),
        )
        op.create_index(f"ix_{of}_tags_tag", f"{of}_tags", ["tag", f"{of}_id"])


def downgrade() -> None:
    op.drop_table("run_tags")
    op.drop_table("experiment_tags")
    op.drop_index("ix_runs_summary", "runs")
    op.create_index("ix_runs_summary", "runs", SUMMARY)
    for table, name in product(("experiments", "runs"), ("archived_at", "deleted_at")):
        op.drop_index(f"ix_{table}_{name}", table)
    for name in ("owner", "project"):
        op.drop_index(f"ix_experiments_{name}", "experiments")
    for table in ("experiments", "runs"):
        for name in ("archived_at", "deleted_at"):
            op.drop_column(table, name)
    op.drop_column("runs", "retries_after")
    op.drop_column("runs", "notes")
    for name in ("added_points", "origin_id", "project", "owner", "notes"):
        op.drop_column("experiments", name)
