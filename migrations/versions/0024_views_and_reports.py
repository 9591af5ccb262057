"""views and reports: what pages of the dashboard show, by names; texts and pictures about runs

Revision ID: 0024
Revises: 0023
Create Date: 2026-11-26 12:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "views",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String().with_variant(sa.String(collation="C"), "postgresql"), nullable=False),
        sa.Column("page", sa.String(), nullable=False),
        sa.Column("query", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False, server_default=""),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_views")),
    )
    op.create_index("ix_views_page", "views", ["page", "name"])
    op.create_table(
        "reports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False, server_default=""),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
    )
    op.create_index("ix_reports_updated_at", "reports", ["updated_at", "id"])
    op.create_table(
        "report_blocks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("report_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["report_id"], ["reports.id"], name=op.f("fk_report_blocks_report_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report_blocks")),
    )
    op.create_index("ix_report_blocks_report_id", "report_blocks", ["report_id", "place"])


def downgrade() -> None:
    op.drop_index("ix_report_blocks_report_id", table_name="report_blocks")
    op.drop_table("report_blocks")
    op.drop_index("ix_reports_updated_at", table_name="reports")
    op.drop_table("reports")
    op.drop_index("ix_views_page", table_name="views")
    op.drop_table("views")
