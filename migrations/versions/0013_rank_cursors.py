"""cursors in the files of points of ranks above 0

Revision ID: 0013
Revises: 0012
Create Date: 2026-11-25 14:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("rank_cursors", sa.JSON(), nullable=False, server_default="{}"))


def downgrade() -> None:
    op.drop_column("runs", "rank_cursors")
