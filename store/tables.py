"""The tables. Migrations follow them; a test fails when the two differ."""

from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import JSON, BigInteger, ForeignKey, Index, MetaData, String, UniqueConstraint, and_, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from contract.lifecycle.divergence import Diverged
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import JobEnd
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.reason import Reason, StopSource, reason_adapter
from contract.lifecycle.reuse import Reuse
from contract.lifecycle.state import State
from contract.lifecycle.unread import Unread
from store import clock
from store.column_types import EnumText, ModelJson, UtcDateTime

REASON = ModelJson(reason_adapter)
UNREAD = ModelJson(TypeAdapter(Unread))
JOB_END = ModelJson(TypeAdapter(JobEnd))
DIVERGED = ModelJson(TypeAdapter(Diverged))
HAS_POINTS, HAS_HISTORY = text("points_removed_at IS NULL"), text("history_removed_at IS NULL")  # of a run
IS_ARCHIVED, IS_DELETED = text("archived_at IS NOT NULL"), text("deleted_at IS NOT NULL")
HAS_CODE, OF_STEP, HAS_ENDED = text("code IS NOT NULL"), text("step_id IS NOT NULL"), text("ended_at IS NOT NULL")
RESTORABLE: dict[str, Any] = {f"{db}_where": text("restorable_until IS NOT NULL") for db in ("sqlite", "postgresql")}
HAS_REUSE, HAS_REUSE_KEY, IS_GIVEN_UP = (text(f"{one} IS NOT NULL") for one in ("reuse", "reuse_key", "given_up_at"))
HAS_DIVERGED = text("diverged IS NOT NULL")
IS_VISIBLE = text("deleted_at IS NULL AND archived_at IS NULL")


def now() -> datetime:
    """Return the present moment by the service's one clock."""
    return clock.now()


class Table(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
        }
    )
    type_annotation_map = {
        dict[str, Any]: JSON,
        list[str]: JSON,
        datetime: UtcDateTime,
        State: EnumText(State),
        ExitCause: EnumText(ExitCause),
        PendingReason: EnumText(PendingReason),
        StopSource: EnumText(StopSource),
        Reuse: EnumText(Reuse),
    }


class Experiment(Table):
    __tablename__ = "experiments"
    __table_args__ = (
        Index("ix_experiments_created_at", "created_at", "id"),
        Index("ix_experiments_owner", "owner", "id"),
        Index("ix_experiments_project", "project", "id"),
        Index("ix_experiments_archived_at", "archived_at", sqlite_where=IS_ARCHIVED, postgresql_where=IS_ARCHIVED),
        Index("ix_experiments_restorable_until", "restorable_until", **RESTORABLE),
        Index("ix_experiments_deleted_at", "deleted_at", sqlite_where=IS_DELETED, postgresql_where=IS_DELETED),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    # in the order of code points on both databases; PostgreSQL's default is the rules of a language
    name: Mapped[str] = mapped_column(String().with_variant(String(collation="C"), "postgresql"), index=True)
    description: Mapped[str] = mapped_column(default="")
    spec: Mapped[dict[str, Any]]
    max_parallel: Mapped[int | None]
    pack: Mapped[int | None]  # so many of its runs share a job
    key: Mapped[str | None] = mapped_column(index=True, unique=True)  # of the request: sent twice, done once
    created_at: Mapped[datetime] = mapped_column(default=now)
    notes: Mapped[str] = mapped_column(default="", server_default="")
    owner: Mapped[str] = mapped_column(default="", server_default="")
    project: Mapped[str] = mapped_column(default="", server_default="")
    origin_id: Mapped[int | None]  # the experiment that it repeats or varies; that may be deleted since
    added_points: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON)  # outside the grid of `spec`
    objective: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))  # store/metrics/objectives.py
    table_base: Mapped[dict[str, Any] | None] = mapped_column(JSON)  # of a workflow: stands for `base` in the run table
    archived_at: Mapped[datetime | None]  # lists hide it
    deleted_at: Mapped[datetime | None]  # nothing shows it, and the tick `delete` removes it
    restorable_until: Mapped[datetime | None]  # null once its removal may have begun


class Run(Table):
    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("experiment_id", "number"),
        Index(
            "ix_runs_summary", "experiment_id", "state", "step", "steps", "objective_value", "deleted_at"
        ),  # for lists
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


class Cluster(Table):
    """The newest report of each cluster; the scheduler writes it, the API reads it."""

    __tablename__ = "clusters"
    kind: Mapped[str] = mapped_column(primary_key=True)
    asked_at: Mapped[datetime]
    error: Mapped[str | None]
    report: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    poll_after: Mapped[datetime | None]  # the next poll of its jobs comes after this moment


class Tick(Table):
    """When each periodic task last succeeded, on any worker; the scheduler writes it, the API reads it."""

    __tablename__ = "ticks"
    name: Mapped[str] = mapped_column(primary_key=True)
    period_s: Mapped[float]
    succeeded_at: Mapped[datetime]
    # sums over all workers since the service began
    runs: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")  # completed
    failures: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    seconds: Mapped[float] = mapped_column(default=0.0, server_default="0")  # of the completed runs
    reports: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")  # of `ingest`: new parts of files
    lag_s: Mapped[float] = mapped_column(default=0.0, server_default="0")  # ages of their first points when stored


class SubmitLimit(Table):
    """What refusals and accepted submissions show of the number of jobs that a cluster admits in one queue.

    A queue whose jobs were never refused has no row. The counts are of this service's jobs and array tasks.
    """

    __tablename__ = "submit_limits"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    queue: Mapped[str] = mapped_column(primary_key=True)
    accepted: Mapped[int] = mapped_column(default=0)  # the largest number at once that the cluster admitted
    refused: Mapped[int | None]  # the smallest number that the cluster refused
    refusals: Mapped[int] = mapped_column(default=0)  # in a row
    held_until: Mapped[datetime | None]  # nothing is submitted before
    probe_at: Mapped[datetime | None]  # from then on one submission may exceed `accepted`
    accepted_at: Mapped[datetime | None]  # the last accepted submission
    message: Mapped[str] = mapped_column(default="")  # of the last refusal, the cluster's own
    leaves_s: Mapped[float | None]  # for so long a job counts after its run has ended; None: not known
