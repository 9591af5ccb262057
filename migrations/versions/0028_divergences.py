"""runs whose loss has left the band of their group

Revision ID: 0028
Revises: 0027
Create Date: 2026-11-26 20:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "divergences",
        sa.Column("run_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_divergences_run_id")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_divergences")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("divergences")
