"""The tables of runs: runs, the jobs of their attempts, the history of their states, their tags and fields."""

from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import JSON, BigInteger, ForeignKey, Index, UniqueConstraint, and_, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from contract.lifecycle.divergence import Diverged
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import JobEnd
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.reason import Reason, StopSource, reason_adapter
from contract.lifecycle.reuse import Reuse
from contract.lifecycle.state import State
from contract.lifecycle.unread import Unread
from store.tables.base import Table, now
from store.tables.column_types import ModelJson
from store.tables.experiments import IS_ARCHIVED, IS_DELETED, RESTORABLE

REASON = ModelJson(reason_adapter)
JOB_END = ModelJson(TypeAdapter(JobEnd))
UNREAD = ModelJson(TypeAdapter(Unread))
DIVERGED = ModelJson(TypeAdapter(Diverged))
HAS_POINTS, HAS_HISTORY = text("points_removed_at IS NULL"), text("history_removed_at IS NULL")  # of a run
HAS_CODE, OF_STEP, HAS_ENDED = text("code IS NOT NULL"), text("step_id IS NOT NULL"), text("ended_at IS NOT NULL")
HAS_REUSE, HAS_REUSE_KEY, IS_GIVEN_UP = (text(f"{one} IS NOT NULL") for one in ("reuse", "reuse_key", "given_up_at"))
HAS_DIVERGED = text("diverged IS NOT NULL")
IS_VISIBLE = text("deleted_at IS NULL AND archived_at IS NULL")


class Run(Table):
    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("experiment_id", "number"),
        # for lists
        Index("ix_runs_summary", "experiment_id", "state", "step", "steps", "objective_value", "deleted_at"),
        Index("ix_runs_visible", "id", sqlite_where=IS_VISIBLE, postgresql_where=IS_VISIBLE),  # counted for the table
        Index("ix_runs_restorable_until", "restorable_until", **RESTORABLE),
        Index("ix_runs_state", "state", "id"),  # in the order of lists
        Index("ix_runs_state_ended_at", "state", "ended_at", sqlite_where=HAS_ENDED, postgresql_where=HAS_ENDED),
        Index("ix_runs_created_at", "created_at", "id"),  # store/lists/order.py finds the least id without a row
        Index("ix_runs_moved_at", "moved_at", sqlite_where=HAS_ENDED, postgresql_where=HAS_ENDED),  # ended lately
        Index("ix_runs_points", "ended_at", sqlite_where=HAS_POINTS, postgresql_where=HAS_POINTS),
        Index("ix_runs_history", "ended_at", sqlite_where=HAS_HISTORY, postgresql_where=HAS_HISTORY),
        Index("ix_runs_archived_at", "archived_at", sqlite_where=IS_ARCHIVED, postgresql_where=IS_ARCHIVED),
        Index("ix_runs_deleted_at", "deleted_at", sqlite_where=IS_DELETED, postgresql_where=IS_DELETED),
        Index("ix_runs_diverged", "experiment_id", sqlite_where=HAS_DIVERGED, postgresql_where=HAS_DIVERGED),  # counted
        Index("ix_runs_code", "code", sqlite_where=HAS_CODE, postgresql_where=HAS_CODE),
        # what the tick `plan` counts, without a look at the rows
        Index("ix_runs_step", "step_id", "state", "deleted_at", sqlite_where=OF_STEP, postgresql_where=OF_STEP),
        Index("ix_runs_reuse", "reuse", "id", sqlite_where=HAS_REUSE, postgresql_where=HAS_REUSE),
        Index("ix_runs_reuse_key", "reuse_key", "id", sqlite_where=HAS_REUSE_KEY, postgresql_where=HAS_REUSE_KEY),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiments.id"))
    number: Mapped[int]  # place in the experiment's grid
    step_id: Mapped[int | None]  # of a workflow; no foreign key, for which SQLite would copy the table of runs
    key: Mapped[str] = mapped_column(unique=True)  # names its folder and jobs, unlike ids unique across databases
    spec: Mapped[dict[str, Any]]
    values: Mapped[dict[str, Any]] = mapped_column("axis_values")
    cluster: Mapped[str]
    need: Mapped[str] = mapped_column(default="")  # runs of one need may share a submission
    code: Mapped[str | None]  # the snapshot that it runs
    queue: Mapped[str] = mapped_column(default="")  # where a cluster limits jobs: partition, account and QOS
    world: Mapped[int]
    steps: Mapped[int]
    state: Mapped[State] = mapped_column(default=State.QUEUED)
    reason: Mapped[Reason | None] = mapped_column(REASON)
    stop_requested_at: Mapped[datetime | None]
    stop_source: Mapped[StopSource | None]
    attempt: Mapped[int] = mapped_column(default=0)  # the number of the current attempt; 0 before the first
    withdrawn: Mapped[int] = mapped_column(default=0)  # submissions that no cluster got; they count as no attempt
    current_job_id: Mapped[int | None] = mapped_column(
        ForeignKey("jobs.id", use_alter=True, name="fk_runs_current_job_id")
    )
    not_before: Mapped[datetime | None]  # the next attempt is not submitted before
    excluded: Mapped[list[str]] = mapped_column(default=list)  # hosts that the next attempts leave out
    cursor: Mapped[int] = mapped_column(BigInteger, default=0)  # bytes of the events file that are stored
    rank_cursors: Mapped[dict[str, Any]] = mapped_column(default=dict)  # the same of points/rank-R.jsonl, by rank
    unread: Mapped[Unread | None] = mapped_column(UNREAD)  # what of its files could not be read; None: nothing
    step: Mapped[int] = mapped_column(default=0)
    latest: Mapped[dict[str, Any]] = mapped_column(default=dict)  # newest values: store/metrics/newest.py
    objective_value: Mapped[float | None]  # of the objective that its experiment has stored: store/metrics/objectives
    diverged: Mapped[Diverged | None] = mapped_column(DIVERGED)  # store/metrics/figures.py
    created_at: Mapped[datetime] = mapped_column(default=now)
    moved_at: Mapped[datetime] = mapped_column(default=now)  # when the service last stored a change of `state`
    # by the run's own events and its cluster's report, however late the service read them (scheduler/events/moments)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None] = mapped_column(index=True)
    ran_s: Mapped[float | None]  # of its ended attempts together; None: of none, or one of them is not known
    notes: Mapped[str] = mapped_column(default="", server_default="")
    archived_at: Mapped[datetime | None]
    left_out: Mapped[str | None]  # why no answer counts the run; None: answers count it
    deleted_at: Mapped[datetime | None]
    restorable_until: Mapped[datetime | None]
    # attempts up to this number count as no retries: somebody has asked for another start since
    retries_after: Mapped[int] = mapped_column(default=0, server_default="0")
    points_removed_at: Mapped[datetime | None]  # store/metrics/retention.py
    history_removed_at: Mapped[datetime | None]
    reuse: Mapped[Reuse | None]  # whether the run may take a finished run's result; None: it does not ask for that
    reuse_key: Mapped[str | None]  # equal for runs that compute the same; None: not known
    input_hashes: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))  # by the names of inputs
    taken_from: Mapped[int | None]  # the run whose result it took
    jobs: Mapped[list["Job"]] = relationship(foreign_keys="Job.run_id", order_by="Job.attempt")
    current_job: Mapped["Job | None"] = relationship(foreign_keys=[current_job_id], viewonly=True)


class Job(Table):
    """One submission that carries one attempt of a run, alone, as an array task, or as a part of a shared job."""

    __tablename__ = "jobs"
    __table_args__ = (
        UniqueConstraint("run_id", "attempt"),
        Index("ix_jobs_exit_cause", "exit_cause", "ended_at"),  # the newest failures
        Index("ix_jobs_given_up_at", "given_up_at", sqlite_where=IS_GIVEN_UP, postgresql_where=IS_GIVEN_UP),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"))
    attempt: Mapped[int]
    name: Mapped[str] = mapped_column(index=True)  # of the submission; the cluster finds the job by this name
    cluster: Mapped[str]
    array_task: Mapped[int | None]
    pack_member: Mapped[int | None]  # place among the runs that share the job
    external_id: Mapped[str | None]  # the cluster's id; None until the submission is confirmed
    lease_renewed_at: Mapped[datetime] = mapped_column(default=now)  # by the worker that submits the job
    # what the cluster reports
    pending_reason: Mapped[PendingReason | None]
    pending_detail: Mapped[str | None]  # the cluster's own word
    unknown_since: Mapped[datetime | None]  # since when the cluster gives no answer for this job
    observed_end: Mapped[JobEnd | None] = mapped_column(JOB_END)
    observed_cause: Mapped[ExitCause | None]
    observed_at: Mapped[datetime | None]  # when the end was first seen
    is_gone: Mapped[bool] = mapped_column(default=False, index=True)  # the cluster no longer runs it, or never had it
    # what the run reports
    reported_cause: Mapped[ExitCause | None]  # of its end; node_failure is a suspicion
    hosts: Mapped[list[str]] = mapped_column(default=list)
    started_at: Mapped[datetime | None]  # when all its ranks were connected
    ran_s: Mapped[float | None]  # from then to its end, by the job itself, else by its cluster; None: not known
    clock_shift_s: Mapped[float] = mapped_column(default=0.0, server_default="0")  # added to the times of its events
    # what the service has asked of the cluster
    stop_requested_at: Mapped[datetime | None]
    kill_requested_at: Mapped[datetime | None]  # the last kill
    # the submission was given up then; if the cluster has a job of its name after all, the job is cancelled
    given_up_at: Mapped[datetime | None]
    # the outcome, once it is decided
    ended_at: Mapped[datetime | None] = mapped_column(index=True)
    exit_cause: Mapped[ExitCause | None]
    exit_reason: Mapped[Reason | None] = mapped_column(REASON)
    exit_step: Mapped[int | None]  # the last step of which something is stored, of any attempt
    reached_step: Mapped[int | None]  # the last one that this attempt reported; None: not known


# joins a run to its current job; with `run_id` a query that starts from jobs finds the runs by their primary key
IS_CURRENT = and_(Run.id == Job.run_id, Job.id == Run.current_job_id)


class Move(Table):
    __tablename__ = "moves"
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), index=True)
    old: Mapped[State | None]
    new: Mapped[State]
    reason: Mapped[Reason | None] = mapped_column(REASON)
    at: Mapped[datetime] = mapped_column(default=now)


class Restart(Table):
    """Where an attempt resumed the run, and how many steps an earlier attempt lost."""

    __tablename__ = "restarts"
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    step: Mapped[int]
    lost_steps: Mapped[int]
    at: Mapped[datetime] = mapped_column(default=now)


class RunTag(Table):
    __tablename__ = "run_tags"
    __table_args__ = (Index("ix_run_tags_tag", "tag", "run_id"),)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    tag: Mapped[str] = mapped_column(primary_key=True)


class RunField(Table):
    """A field in which a run differs from its experiment's base run; without a value: the run lacks the field."""

    __tablename__ = "run_fields"
    __table_args__ = (Index("ix_run_fields_run_id", "run_id"), {"sqlite_with_rowid": False})
    path: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    number: Mapped[float | None]
    text: Mapped[str | None]
