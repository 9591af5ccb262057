"""submit limits

Revision ID: 0011
Revises: 0009
Create Date: 2026-11-23 14:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "submit_limits",
        sa.Column("cluster", sa.String(), nullable=False),
        sa.Column("queue", sa.String(), nullable=False),
        sa.Column("accepted", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=True),
        sa.Column("refusals", sa.Integer(), nullable=False),
        sa.Column("held_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("probe_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("message", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("cluster", "queue", name=op.f("pk_submit_limits")),
    )
    # runs from before count together as one more queue
    with op.batch_alter_table("runs") as batch:
        batch.add_column(sa.Column("queue", sa.String(), nullable=False, server_default=""))
        batch.add_column(sa.Column("withdrawn", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("runs") as batch:
        batch.alter_column("queue", server_default=None)
        batch.alter_column("withdrawn", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("runs") as batch:
        batch.drop_column("withdrawn")
        batch.drop_column("queue")
    op.drop_table("submit_limits")
