"""sessions that were signed out, and sign-in codes that were used

Revision ID: 0040
Revises: 0039
Create Date: 2026-12-02 01:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ended_values",
        sa.Column("nonce", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("nonce", name=op.f("pk_ended_values")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_ended_values_expires_at", "ended_values", ["expires_at"])


def downgrade() -> None:
    op.drop_table("ended_values")
