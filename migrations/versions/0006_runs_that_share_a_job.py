"""packed jobs

Revision ID: 0006
Revises: 0005
Create Date: 2026-11-22 00:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("experiments", sa.Column("pack", sa.Integer(), nullable=True))
    op.add_column("runs", sa.Column("member", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "member")
    op.drop_column("experiments", "pack")
