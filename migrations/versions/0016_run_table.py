"""run table: the fields of specs and the figures of metrics as rows, so that the table of runs reads neither

Revision ID: 0016
Revises: 0015
Create Date: 2026-11-26 04:10:00
"""

import sqlalchemy as sa
from alembic import op

from migrations.spec_rows import add_fields, add_figures

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for of in ("experiment", "run"):
        op.create_table(
            f"{of}_fields",
            sa.Column("path", sa.String(), nullable=False),
            sa.Column(f"{of}_id", sa.Integer(), nullable=False, autoincrement=False),
            sa.Column("number", sa.Double(), nullable=True),
            sa.Column("text", sa.String(), nullable=True),
            sa.ForeignKeyConstraint([f"{of}_id"], [f"{of}s.id"], name=op.f(f"fk_{of}_fields_{of}_id")),
            sa.PrimaryKeyConstraint("path", f"{of}_id", name=op.f(f"pk_{of}_fields")),
            sqlite_with_rowid=False,
        )
        op.create_index(f"ix_{of}_fields_{of}_id", f"{of}_fields", [f"{of}_id"])
    op.create_table(
        "figures",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("last_step", sa.Integer(), nullable=False),
        sa.Column("last", sa.Double(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("least", sa.Double(), nullable=True),
        sa.Column("most", sa.Double(), nullable=True),
        sa.Column("mean", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_figures_run_id")),
        sa.PrimaryKeyConstraint("name", "run_id", name=op.f("pk_figures")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_figures_run_id", "figures", ["run_id"])
    add_fields(op.get_bind())
    add_figures(op.get_bind())


def downgrade() -> None:
    op.drop_table("figures")
    op.drop_table("run_fields")
    op.drop_table("experiment_fields")
