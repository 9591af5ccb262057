"""jobs: one row per attempt

Revision ID: 0008
Revises: 0007
Create Date: 2026-11-23 06:15:00
"""

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations import job_rows

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

BATCH = 1000
# columns of `runs` that columns of `jobs` replace
MOVED = (
    *("job_name", "task", "member", "job_id", "job_gone", "gone_reason", "gone_cause", "gone_at", "own_cause"),
    *("hosts", "waits_for", "waits_kind", "stop_asked_at", "stop_forced_at", "unknown_since"),
)
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Move the facts of attempts from `runs` and `attempts` to `jobs`, and turn sentences into reasons."""
    _create_jobs()
    _fill_jobs()
    _convert_runs()
    _convert_moves(sa.JSON(), job_rows.reason_of)
    op.drop_table("attempts")
    with op.batch_alter_table("clusters") as batch:
        batch.alter_column("look_after", new_column_name="poll_after", existing_type=TIME, existing_nullable=True)


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("cluster", sa.String(), nullable=False),
        sa.Column("array_task", sa.Integer(), nullable=True),
        sa.Column("pack_member", sa.Integer(), nullable=True),
        sa.Column("external_id", sa.String(), nullable=True),
        sa.Column("lease_renewed_at", TIME, nullable=False),
        sa.Column("pending_reason", sa.String(), nullable=True),
        sa.Column("pending_detail", sa.String(), nullable=True),
        sa.Column("unknown_since", TIME, nullable=True),
        sa.Column("observed_end", sa.JSON(), nullable=True),
        sa.Column("observed_cause", sa.String(), nullable=True),
        sa.Column("observed_at", TIME, nullable=True),
        sa.Column("is_gone", sa.Boolean(), nullable=False),
        sa.Column("reported_cause", sa.String(), nullable=True),
        sa.Column("hosts", sa.JSON(), nullable=False),
        sa.Column("stop_requested_at", TIME, nullable=True),
        sa.Column("kill_requested_at", TIME, nullable=True),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("exit_cause", sa.String(), nullable=True),
        sa.Column("exit_reason", sa.JSON(), nullable=True),
        sa.Column("exit_step", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_jobs_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("run_id", "attempt", name=op.f("uq_jobs_run_id")),
    )
    op.create_index(op.f("ix_jobs_name"), "jobs", ["name"])
    op.create_index(op.f("ix_jobs_is_gone"), "jobs", ["is_gone"])


def _fill_jobs() -> None:
    """Insert a job for every attempt: the current one from `runs`, the earlier ones from `attempts`."""
    columns = ", ".join(f"r.{name}" for name in (*MOVED, "id", "key", "cluster", "state", "attempt", "moved_at"))
    current = (
        f"SELECT {columns}, a.ended_at, a.step, a.cause, a.reason FROM runs r"
        " LEFT JOIN attempts a ON a.run_id = r.id AND a.number = r.attempt WHERE r.attempt > 0"
    )
    earlier = "SELECT a.*, r.key, r.cluster FROM attempts a JOIN runs r ON r.id = a.run_id WHERE a.number <> r.attempt"
    rows = [job_rows.current_job(row) for row in _read(current)]
    rows += [job_rows.earlier_job(row) for row in _read(earlier)]
    _insert_many(_table("jobs"), sorted(rows, key=lambda row: (row["run_id"], row["attempt"])))


def _convert_runs() -> None:
    connection = op.get_bind()
    old = connection.execute(sa.text("SELECT id, state, reason, stop_reason FROM runs")).all()
    with op.batch_alter_table("runs") as batch:
        batch.drop_index("ix_runs_job_name")
        for name in (*MOVED, "reason", "stop_reason"):
            batch.drop_column(name)
        batch.alter_column(
            "stop_wanted_at", new_column_name="stop_requested_at", existing_type=TIME, existing_nullable=True
        )
    with op.batch_alter_table("runs") as batch:
        batch.add_column(sa.Column("reason", sa.JSON(), nullable=True))
        batch.add_column(sa.Column("stop_source", sa.String(), nullable=True))
        batch.add_column(sa.Column("current_job_id", sa.Integer(), nullable=True))
        batch.create_foreign_key("fk_runs_current_job_id", "jobs", ["current_job_id"], ["id"])
        batch.create_index(op.f("ix_runs_ended_at"), ["ended_at"])
    newest = "SELECT id FROM jobs WHERE jobs.run_id = runs.id AND jobs.attempt = runs.attempt"
    connection.execute(sa.text(f"UPDATE runs SET current_job_id = ({newest})"))
    changes = [
        {"this": id_, "reason": job_rows.run_reason(state, text), "stop_source": job_rows.stop_source_of(stop)}
        for id_, state, text, stop in old
        if text or stop
    ]
    _update_many(_table("runs"), ("reason", "stop_source"), changes)


def _convert_moves(new_type: Any, convert: Callable[[Any], Any]) -> None:
    """Replace the column `moves.reason` by one of another type, with converted values."""
    old = _table("moves").c
    stored = op.get_bind().execute(sa.select(old.id, old.reason).where(old.reason.is_not(None))).all()
    with op.batch_alter_table("moves") as batch:
        batch.drop_column("reason")
    with op.batch_alter_table("moves") as batch:
        batch.add_column(sa.Column("reason", new_type, nullable=True))
    changes = [{"this": id_, "reason": convert(reason)} for id_, reason in stored]
    _update_many(_table("moves"), ("reason",), changes)


def downgrade() -> None:
    """Move the facts of attempts back; pending reasons, ends and reasons become short texts."""
    _create_attempts()
    connection, new, jobs = op.get_bind(), _table("runs"), _table("jobs")
    carried = sa.select(jobs).join(new, new.c.current_job_id == jobs.c.id)
    current = [dict(row) for row in connection.execute(carried.order_by(jobs.c.id)).mappings()]
    decided = sa.select(jobs).where(jobs.c.exit_cause.is_not(None))
    ended = [dict(row) for row in connection.execute(decided).mappings()]
    _insert_many(_table("attempts"), [job_rows.old_attempt(job) for job in ended])
    stored = connection.execute(sa.select(new.c.id, new.c.reason, new.c.stop_source)).all()
    _restore_columns()
    runs = _table("runs")
    texts = [
        {"this": id_, "reason": job_rows.reason_text(reason), "stop_reason": stop and job_rows.STOPS[stop]}
        for id_, reason, stop in stored
        if reason or stop
    ]
    _update_many(runs, ("reason", "stop_reason"), texts)
    _update_many(runs, MOVED, [{"this": job["run_id"]} | job_rows.old_columns(job) for job in current])
    _convert_moves(sa.String(), job_rows.reason_text)
    op.drop_table("jobs")
    with op.batch_alter_table("clusters") as batch:
        batch.alter_column("poll_after", new_column_name="look_after", existing_type=TIME, existing_nullable=True)


def _restore_columns() -> None:
    """Give `runs` its columns of 0007, without values."""
    with op.batch_alter_table("runs") as batch:
        batch.drop_index("ix_runs_ended_at")
        batch.drop_constraint("fk_runs_current_job_id", type_="foreignkey")
        for name in ("current_job_id", "reason", "stop_source"):
            batch.drop_column(name)
        batch.alter_column(
            "stop_requested_at", new_column_name="stop_wanted_at", existing_type=TIME, existing_nullable=True
        )
    with op.batch_alter_table("runs") as batch:
        for name in MOVED:
            batch.add_column(_old_column(name))
        batch.add_column(sa.Column("reason", sa.String(), nullable=True))
        batch.add_column(sa.Column("stop_reason", sa.String(), nullable=True))
        batch.create_index("ix_runs_job_name", ["job_name"])
    with op.batch_alter_table("runs") as batch:
        batch.alter_column("job_gone", server_default=None)
        batch.alter_column("hosts", server_default=None)


def _create_attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("job_id", sa.String(), nullable=True),
        sa.Column("ended_at", TIME, nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("hosts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_attempts_run_id")),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_attempts")),
    )


def _old_column(name: str) -> sa.Column[Any]:
    types = {
        **dict.fromkeys(("task", "member"), sa.Integer()),
        **dict.fromkeys(("gone_at", "stop_asked_at", "stop_forced_at", "unknown_since"), TIME),
    }
    if name == "job_gone":
        return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false())
    if name == "hosts":
        return sa.Column(name, sa.JSON(), nullable=False, server_default="[]")
    column_type: Any = types.get(name, sa.String())
    return sa.Column(name, column_type, nullable=True)


def _read(statement: str) -> Sequence[Any]:
    """Return the rows of a statement; SQLite returns moments and JSON as text without their types."""
    moments = ("gone_at", "stop_asked_at", "stop_forced_at", "unknown_since", "moved_at", "ended_at")
    types: dict[str, Any] = {"hosts": sa.JSON(), **dict.fromkeys(moments, TIME)}
    return op.get_bind().execute(sa.text(statement).columns(**types)).mappings().all()


def _table(name: str) -> sa.Table:
    """Return the table as it is now; None becomes NULL, not JSON's null."""
    table = sa.Table(name, sa.MetaData(), autoload_with=op.get_bind())
    for column in table.columns:
        if isinstance(column.type, sa.JSON):
            column.type = sa.JSON(none_as_null=True)
    return table


def _insert_many(table: sa.Table, rows: Sequence[Any]) -> None:
    for start in range(0, len(rows), BATCH):
        op.get_bind().execute(table.insert(), rows[start : start + BATCH])


def _update_many(table: sa.Table, names: Sequence[str], rows: Sequence[Any]) -> None:
    """Change the columns `names` of the rows with the ids `this`."""
    values = {name: sa.bindparam(f"new_{name}", type_=table.c[name].type) for name in names}
    statement = sa.update(table).where(table.c.id == sa.bindparam("this")).values(values)
    changes = [{"this": row["this"]} | {f"new_{name}": row[name] for name in names} for row in rows]
    for start in range(0, len(changes), BATCH):
        op.get_bind().execute(statement, changes[start : start + BATCH])
