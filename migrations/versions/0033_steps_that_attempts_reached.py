"""the last step that an attempt itself reached

Revision ID: 0033
Revises: 0032
Create Date: 2026-11-29 12:10:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("reached_step", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "reached_step")
