"""idempotency keys of experiments

Revision ID: 0005
Revises: 0004
Create Date: 2026-11-21 18:05:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("experiments", sa.Column("key", sa.String(), nullable=True))
    op.create_index("ix_experiments_key", "experiments", ["key"], unique=True)


def downgrade() -> None:
    op.drop_index("ix_experiments_key", "experiments")
    op.drop_column("experiments", "key")
