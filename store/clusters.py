"""Clusters: the newest report of each, and the learned limits of their queues."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from contract.api.cluster_report import ClusterReport
from contract.lifecycle.state import LIVE, State
from store.insert import insert_into
from store.tables.base import now
from store.tables.clusters import Cluster, SubmitLimit
from store.tables.runs import Run

LATE_AFTER = timedelta(
    minutes=3
)  # a report a minute is always possible, however many calls are made for other purposes
Change = Callable[[SubmitLimit], None]
DELETED_AFTER = timedelta(minutes=5)  # without a report
UNREADABLE = "its answer cannot be read"  # begins the error of a cluster that answered, unlike one that is silent


def store_report(db: Session, kind: str, report: ClusterReport | None, error: str | None) -> None:
    """Store the newest report of a cluster; with an error the report before stays."""
    # two workers may insert the first report, and each must see the other's
    db.execute(insert_into(db, Cluster).on_conflict_do_nothing(), [{"kind": kind, "asked_at": now()}])
    row = db.get_one(Cluster, kind, with_for_update=True)
    row.asked_at, row.error = now(), error
    if report:
        new, before = report.model_dump(mode="json"), row.report or {}
        row.report = new | {"admits": new["admits"] or before.get("admits")}  # another worker may have read the limits
    db.flush()


def delete_others(db: Session, kinds: Sequence[str]) -> None:
    """Delete clusters that no worker has reported for a while: another worker may have one that is not in `kinds`."""
    db.execute(delete(Cluster).where(Cluster.kind.not_in(kinds), Cluster.asked_at < now() - DELETED_AFTER))


def is_in_use(db: Session, kind: str) -> bool:
    """Return whether a cluster has ever reported, or has live runs."""
    row = db.get(Cluster, kind)
    live = select(Run.id).where(Run.cluster == kind, Run.state.in_([*LIVE, State.SUBMITTING])).limit(1)
    return bool(row and row.report) or db.scalar(live) is not None


def reports(db: Session) -> Sequence[Cluster]:
    """Return the newest report of every cluster."""
    return db.scalars(select(Cluster).order_by(Cluster.kind)).all()


def submit_limits(db: Session, cluster: str) -> dict[str, SubmitLimit]:
    """Return the learned limits of a cluster by queue."""
    return {row.queue: row for row in db.scalars(select(SubmitLimit).where(SubmitLimit.cluster == cluster))}


def submit_limit(db: Session, cluster: str, queue: str) -> SubmitLimit | None:
    """Return the learned limit of a queue; None if its jobs were never refused."""
    return db.get(SubmitLimit, (cluster, queue))


def write_refusal(db: Session, cluster: str, queue: str, change: Change) -> None:
    """Apply a refusal to the limit of a queue; the first refusal inserts the row."""
    # two workers may insert the row, and each must see the other's change
    new = {"cluster": cluster, "queue": queue, "accepted": 0, "refusals": 0, "message": ""}
    db.execute(insert_into(db, SubmitLimit).on_conflict_do_nothing(), [new])
    change(db.get_one(SubmitLimit, (cluster, queue), with_for_update=True))
    db.flush()


def write_acceptance(db: Session, cluster: str, queue: str, change: Change) -> None:
    """Apply an accepted submission to the limit of a queue; a queue that never refused has none."""
    if row := db.get(SubmitLimit, (cluster, queue), with_for_update=True):
        change(row)
        db.flush()
