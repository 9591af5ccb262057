"""ticks

Revision ID: 0009
Revises: 0008
Create Date: 2026-11-23 12:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ticks",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("period_s", sa.Double(), nullable=False),
        sa.Column("succeeded_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_ticks")),
    )


def downgrade() -> None:
    op.drop_table("ticks")
