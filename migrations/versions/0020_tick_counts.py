"""tick counts: runs, failures and seconds of the periodic tasks, and the lag of ingestion

Revision ID: 0020
Revises: 0019
Create Date: 2026-11-26 10:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

COUNTS = ("runs", "failures", "reports")
SECONDS = ("seconds", "lag_s")


def upgrade() -> None:
    for name in COUNTS:
        op.add_column("ticks", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    for name in SECONDS:
        op.add_column("ticks", sa.Column(name, sa.Double(), nullable=False, server_default="0"))


def downgrade() -> None:
    for name in (*COUNTS, *SECONDS):
        op.drop_column("ticks", name)
