"""The tables of clusters: their reports, the limits of their queues, and the calls of their commands."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from store.tables.base import Table


class Cluster(Table):
    """The newest report of each cluster; the scheduler writes it, the API reads it."""

    __tablename__ = "clusters"
    kind: Mapped[str] = mapped_column(primary_key=True)
    asked_at: Mapped[datetime]
    error: Mapped[str | None]
    report: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    poll_after: Mapped[datetime | None]  # the next poll of its jobs comes after this moment


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


class CallSlot(Table):
    """One call of a cluster's commands that is allowed per minute; there are as many slots as calls."""

    __tablename__ = "call_slots"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    slot: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[float]  # seconds since 1970 when it was last used
    kind: Mapped[str] = mapped_column(default="", server_default="")  # of the call that used it


class CallKind(Table):
    """A kind of a cluster's calls: how many slots only this kind may use, and when it last used a slot."""

    __tablename__ = "call_kinds"
    cluster: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    reserve: Mapped[int]
    at: Mapped[float]  # seconds since 1970; 0 before the first call


class NoAnswer(Table):
    """When a cluster's controller last gave no answer; 0 once it answers again."""

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
