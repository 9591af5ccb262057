"""what the service could not read of a run's files

Revision ID: 0034
Revises: 0033
Create Date: 2026-11-29 12:25:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("unread", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "unread")
