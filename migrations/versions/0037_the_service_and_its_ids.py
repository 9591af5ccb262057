"""the identity of the service, and the ids that it has given

Revision ID: 0037
Revises: 0036
Create Date: 2026-11-30 03:00:00
"""

from secrets import token_hex

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    table = op.create_table(
        "service",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("identity", sa.String(), nullable=False),
        sa.Column("marks", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("experiments", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("runs", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service")),
    )
    op.bulk_insert(table, [{"id": 1, "identity": token_hex(4)}])


def downgrade() -> None:
    op.drop_table("service")
