"""point writers: clients that send points over HTTP in numbered batches

Revision ID: 0019
Revises: 0018
Create Date: 2026-11-26 09:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "point_writers",
        sa.Column("run_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("stored", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_point_writers_run_id")),
        sa.PrimaryKeyConstraint("run_id", "name", name=op.f("pk_point_writers")),
    )


def downgrade() -> None:
    op.drop_table("point_writers")
