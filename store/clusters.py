"""What each cluster last said of itself."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from contract.api.cluster_report import ClusterReport
from store.metrics.points import insert_into
from store.tables import Cluster, now

FORGOTTEN_AFTER = timedelta(minutes=5)  # since anybody has asked it


def put(db: Session, kind: str, report: ClusterReport | None, error: str | None) -> None:
    """Keep the newest answer of a cluster; an answer that failed keeps the report before it and says why."""
    # two workers may be the first to tell of it, and each must know what the other has told
    db.execute(insert_into(db, Cluster).on_conflict_do_nothing(), [{"kind": kind, "asked_at": now()}])
    row = db.get_one(Cluster, kind, with_for_update=True)
    row.asked_at, row.error = now(), error
    if report:
        told, before = report.model_dump(mode="json"), row.report or {}
        row.report = told | {"admits": told["admits"] or before.get("admits")}  # another worker may know it
    db.flush()


def drop_others(db: Session, kinds: Sequence[str]) -> None:
    """Forget clusters that this service no longer has: another worker may have one that is not among `kinds`."""
    db.execute(delete(Cluster).where(Cluster.kind.not_in(kinds), Cluster.asked_at < now() - FORGOTTEN_AFTER))


def all_of(db: Session) -> Sequence[Cluster]:
    return db.scalars(select(Cluster).order_by(Cluster.kind)).all()
