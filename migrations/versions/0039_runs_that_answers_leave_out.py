"""runs that answers leave out, with the reason

Revision ID: 0039
Revises: 0038
Create Date: 2026-12-01 02:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("left_out", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "left_out")
