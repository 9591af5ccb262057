"""the first tables

Before the first release the tables had 41 migrations, which became this one. It has the number of the last of them: a
database that has it is at the first migration already.

Revision ID: 0041
Revises: none
Create Date: 2026-12-01 12:30:00
"""

from secrets import token_hex

import sqlalchemy as sa
from alembic import op

from migrations.first_tables import experiments, files, messages, runs, service  # noqa: F401  # they declare the tables
from migrations.first_tables.metadata import first_tables

revision = "0041"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    tables = first_tables()
    tables.create_all(op.get_bind(), checkfirst=False)
    if op.get_bind().dialect.name == "postgresql":
        for table in ("chunks", "cell_blocks"):  # their data is compressed already
            op.execute(f"ALTER TABLE {table} ALTER COLUMN data SET STORAGE EXTERNAL")
    op.get_bind().execute(sa.insert(tables.tables["service"]), {"id": 1, "identity": token_hex(4)})


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("fk_runs_current_job_id", "runs")  # runs and jobs refer to each other
    for table in reversed(first_tables().sorted_tables):
        table.drop(op.get_bind(), checkfirst=False)
