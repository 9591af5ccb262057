"""points in chunks, and cells that sum them up

Revision ID: 0017
Revises: 0016
Create Date: 2026-11-26 00:20:00
"""

import sqlalchemy as sa
from alembic import op

from migrations.point_rows import from_chunks, to_chunks

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

PACKED = {"chunks": ("first_step", "last_step", "count"), "cell_blocks": ("level", "block")}
KEYS = {"chunks": ["series_id", "first_step"], "cell_blocks": ["series_id", "level", "block"]}


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    nothing = sa.text("x''" if is_sqlite else "''")  # SQLite would store '' as a text in the existing rows
    op.add_column("series", sa.Column("tail", sa.LargeBinary(), nullable=False, server_default=nothing))
    op.add_column("series", sa.Column("first_step", sa.Integer(), nullable=True))
    op.add_column("series", sa.Column("chunked_to", sa.Integer(), nullable=False, server_default="-1"))
    op.add_column("series", sa.Column("open_chunk", sa.Integer(), nullable=True))
    op.add_column("series", sa.Column("cell_width", sa.Integer(), nullable=False, server_default="0"))
    for table, names in PACKED.items():
        op.create_table(
            table,
            sa.Column("series_id", sa.Integer(), nullable=False, autoincrement=False),
            *(sa.Column(name, sa.Integer(), nullable=False, autoincrement=False) for name in names),
            sa.Column("data", sa.LargeBinary(), nullable=False),
            sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f(f"fk_{table}_series_id")),
            sa.PrimaryKeyConstraint(*KEYS[table], name=op.f(f"pk_{table}")),
            sqlite_with_rowid=False,
        )
        if not is_sqlite:  # the bytes are packed already
            op.execute(f"ALTER TABLE {table} ALTER COLUMN data SET STORAGE EXTERNAL")
    to_chunks(op.get_bind())
    op.drop_table("points")


def downgrade() -> None:
    op.create_table(
        "points",
        sa.Column("series_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("step", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_points_series_id")),
        sa.PrimaryKeyConstraint("series_id", "step", name=op.f("pk_points")),
        sqlite_with_rowid=False,
    )
    from_chunks(op.get_bind())
    op.drop_table("cell_blocks")
    op.drop_table("chunks")
    for name in ("cell_width", "open_chunk", "chunked_to", "first_step", "tail"):
        op.drop_column("series", name)
