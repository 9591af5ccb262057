"""copies of artifacts in an object store, and outages of object stores

Revision ID: 0027
Revises: 0026
Create Date: 2026-11-26 16:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

IS_OPEN = sa.text("state IN ('waiting', 'removing')")
EXISTING = """
    INSERT INTO mirror_copies (run_id, attempt, name, state, due_at, claims, faults)
    SELECT run_id, attempt, name, 'waiting', created_at, 0, 0 FROM artifacts WHERE attempt > 0 AND removed_at IS NULL
"""


def upgrade() -> None:
    op.create_table(
        "mirror_copies",
        sa.Column("run_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("attempt", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("store", sa.String(), nullable=True),
        sa.Column("place", sa.String(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("claims", sa.Integer(), nullable=False),
        sa.Column("faults", sa.Integer(), nullable=False),
        sa.Column("problem", sa.String(), nullable=True),
        sa.Column("copied_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("manifest_sha256", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "attempt", "name", name=op.f("pk_mirror_copies")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_mirror_copies_due", "mirror_copies", ["due_at"], sqlite_where=IS_OPEN, postgresql_where=IS_OPEN)
    op.execute(EXISTING)
    op.create_table(
        "store_outages",
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_try_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("problem", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("url", name=op.f("pk_store_outages")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("store_outages")
    op.drop_index("ix_mirror_copies_due", table_name="mirror_copies")
    op.drop_table("mirror_copies")
