"""The tables. Migrations follow them; a test fails when the two differ."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, ForeignKey, Index, MetaData, TypeDecorator, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from store import clock


def now() -> datetime:
    """The moment by the service's one clock."""
    return clock.now()


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite forgets the zone, so it is put back when read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


class Table(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
        }
    )
    type_annotation_map = {dict[str, Any]: JSON, list[str]: JSON, datetime: UtcDateTime}


class Experiment(Table):
    __tablename__ = "experiments"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    description: Mapped[str] = mapped_column(default="")
    spec: Mapped[dict[str, Any]]
    max_parallel: Mapped[int | None]
    pack: Mapped[int | None]  # so many of its runs share a job
    key: Mapped[str | None] = mapped_column(
        index=True, unique=True
    )  # of the request that made it: sent twice, done once
    created_at: Mapped[datetime] = mapped_column(default=now)


class Run(Table):
    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("experiment_id", "number"),
        # what the list of experiments sums up, without a look at the rows and their specs
        Index("ix_runs_summary", "experiment_id", "state", "step", "steps"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    experiment_id: Mapped[int] = mapped_column(ForeignKey("experiments.id"))
    number: Mapped[int]  # place in the experiment's grid
    key: Mapped[str] = mapped_column(unique=True)  # names its folder and jobs, unlike ids unique across databases
    spec: Mapped[dict[str, Any]]
    values: Mapped[dict[str, Any]] = mapped_column("axis_values")
    cluster: Mapped[str]
    need: Mapped[str] = mapped_column(default="")  # runs of one need may share a submission
    world: Mapped[int]
    steps: Mapped[int]
    state: Mapped[str] = mapped_column(default="queued", index=True)
    reason: Mapped[str | None]
    stop_wanted_at: Mapped[datetime | None]
    stop_reason: Mapped[str | None]
    attempt: Mapped[int] = mapped_column(default=0)
    not_before: Mapped[datetime | None]  # a run that is tried again waits so long
    excluded: Mapped[list[str]] = mapped_column(default=list)  # hosts that failed under it
    job_name: Mapped[str | None] = mapped_column(index=True)  # by which the cluster is asked when the id is not known
    task: Mapped[int | None]  # its place in the job array of that name
    member: Mapped[int | None]  # its place in its task's job, where it shares that with others
    job_id: Mapped[str | None]
    job_gone: Mapped[bool] = mapped_column(default=False)  # the cluster has said that the last job has ended
    gone_reason: Mapped[str | None]  # what it said
    gone_cause: Mapped[str | None]
    gone_at: Mapped[datetime | None]
    own_cause: Mapped[str | None]  # what the run itself said of its end; node_failure: what it suspects
    hosts: Mapped[list[str]] = mapped_column(default=list)  # of its attempt, once that began or one failed
    waits_for: Mapped[str | None]  # why the cluster does not start the job yet, in a sentence, and of what kind that is
    waits_kind: Mapped[str | None]
    stop_asked_at: Mapped[datetime | None]  # when the cluster was first told to end the job
    stop_forced_at: Mapped[datetime | None]  # when it was first told to kill it
    cursor: Mapped[int] = mapped_column(BigInteger, default=0)  # bytes of the events file already stored
    step: Mapped[int] = mapped_column(default=0)
    latest: Mapped[dict[str, Any]] = mapped_column(default=dict)  # series -> newest value
    unknown_since: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    moved_at: Mapped[datetime] = mapped_column(default=now)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    tried: Mapped[list["Attempt"]] = relationship(order_by="Attempt.number")  # as far as jobs have ended


class Move(Table):
    __tablename__ = "moves"
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), index=True)
    old: Mapped[str | None]
    new: Mapped[str]
    reason: Mapped[str | None]
    at: Mapped[datetime] = mapped_column(default=now)


class Restart(Table):
    """Where an attempt took the run up again, and how many steps had been taken in vain before."""

    __tablename__ = "restarts"
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    step: Mapped[int]
    lost_steps: Mapped[int]
    at: Mapped[datetime] = mapped_column(default=now)


class Attempt(Table):
    """One job that carried a run, or a part of it, and how it ended."""

    __tablename__ = "attempts"
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    job_id: Mapped[str | None]
    ended_at: Mapped[datetime]
    step: Mapped[int]  # the last one of which something is stored
    cause: Mapped[str]
    reason: Mapped[str | None]
    hosts: Mapped[list[str]]


class Series(Table):
    """One curve of one run. Points hold its id, not its name: there are a thousand of them for each series."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("run_id", "name"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"))
    name: Mapped[str]


class Point(Table):
    __tablename__ = "points"
    __table_args__ = {"sqlite_with_rowid": False}
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"), primary_key=True, autoincrement=False)
    step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    value: Mapped[float | None]  # null: not a finite number


class Cluster(Table):
    """What each cluster last said of itself; the scheduler writes it, the API reads it."""

    __tablename__ = "clusters"
    kind: Mapped[str] = mapped_column(primary_key=True)
    asked_at: Mapped[datetime]
    error: Mapped[str | None]
    report: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    look_after: Mapped[datetime | None]  # whoever asks it for jobs next does so after this moment


class CallSlot(Table):
    """One call of a cluster's commands that is allowed per minute; there are as many slots as calls."""

    __tablename__ = "call_slots"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    slot: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[float]  # seconds since 1970 when it was last used


class Silence(Table):
    """When a cluster's controller did not answer; 0 when it has answered since."""

    __tablename__ = "silences"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[float]  # seconds since 1970


class CallCount(Table):
    """How often each of a cluster's commands was called, how it ended and how long it took."""

    __tablename__ = "call_counts"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    command: Mapped[str] = mapped_column(primary_key=True)
    outcome: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float]
