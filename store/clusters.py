"""What each cluster last said of itself."""

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from contract.cluster import ClusterReport
from store.tables import Cluster, now


def put(db: Session, kind: str, report: ClusterReport | None, error: str | None) -> None:
    """Keep the newest answer of a cluster; an answer that failed keeps the report before it and says why."""
    row = db.get(Cluster, kind) or Cluster(kind=kind, asked_at=now(), error=None, report=None)
    row.asked_at, row.error = now(), error
    if report:
        row.report = report.model_dump(mode="json")
    db.add(row)


def drop_others(db: Session, kinds: Sequence[str]) -> None:
    """Forget clusters that this service no longer has."""
    db.execute(delete(Cluster).where(Cluster.kind.not_in(kinds)))


def all_of(db: Session) -> Sequence[Cluster]:
    return db.scalars(select(Cluster).order_by(Cluster.kind)).all()
