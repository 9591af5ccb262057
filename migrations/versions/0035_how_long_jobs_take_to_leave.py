"""how long a job counts under a submit limit after its run has ended

Revision ID: 0035
Revises: 0034
Create Date: 2026-11-29 13:05:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("submit_limits", sa.Column("leaves_s", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("submit_limits", "leaves_s")
