"""reserves of calls, submissions that were given up

Revision ID: 0012
Revises: 0009
Create Date: 2026-11-23 14:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "call_kinds",
        sa.Column("cluster", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("reserve", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("cluster", "kind", name=op.f("pk_call_kinds")),
    )
    op.add_column("call_slots", sa.Column("kind", sa.String(), nullable=False, server_default=""))
    op.add_column("jobs", sa.Column("given_up_at", sa.DateTime(timezone=True), nullable=True))
    where = sa.text("given_up_at IS NOT NULL")
    op.create_index("ix_jobs_given_up_at", "jobs", ["given_up_at"], sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    op.drop_index("ix_jobs_given_up_at", "jobs")
    op.drop_column("jobs", "given_up_at")
    op.drop_column("call_slots", "kind")
    op.drop_table("call_kinds")
