"""removed outputs whose files are still there

Revision ID: 0029
Revises: 0028
Create Date: 2026-11-27 04:40:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

INDEX, TABLE = "ix_artifacts_retention", "artifacts"
BEFORE, AFTER = sa.text("removed_at IS NULL AND has_retention"), sa.text("has_retention")


def upgrade() -> None:
    # the files of these are gone: they were removed before their rows were marked
    op.execute("UPDATE artifacts SET has_retention = false WHERE removed_at IS NOT NULL AND has_retention")
    op.drop_index(INDEX, TABLE)
    op.create_index(INDEX, TABLE, ["run_id"], sqlite_where=AFTER, postgresql_where=AFTER)


def downgrade() -> None:
    # the earlier program removes the files of outputs that are not marked
    op.execute(
        "UPDATE artifacts SET removed_at = NULL, removed_because = NULL WHERE removed_at IS NOT NULL AND has_retention"
    )
    op.drop_index(INDEX, TABLE)
    op.create_index(INDEX, TABLE, ["run_id"], sqlite_where=BEFORE, postgresql_where=BEFORE)
