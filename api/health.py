"""Endpoints of the service's health: liveness, readiness, cluster reports."""

from datetime import timedelta
from importlib.metadata import version

from fastapi import APIRouter, Response
from sqlalchemy.exc import SQLAlchemyError

from api.database import Reading
from contract.api.responses import ClusterView, Health, Readiness
from store import clusters
from store.tables import now

router = APIRouter(tags=["service"])
MAX_SCHEDULER_AGE = timedelta(seconds=90)  # the scheduler reports every few seconds; with a slow Slurm every minute


@router.get("/health")
def health() -> Health:
    """Return that the API process answers."""
    return Health(ok=True, version=version("bigbatch"))


@router.get("/ready", responses={503: {"model": Readiness}})
def ready(db: Reading, response: Response) -> Readiness:
    """Return 200 if the database answers and the scheduler has reported recently, else 503 with the problem."""
    try:
        seen = max((row.asked_at for row in clusters.reports(db)), default=None)
        database = "ok"
    except SQLAlchemyError as error:
        seen, database = None, str(error).splitlines()[0]
    is_fresh = seen is not None and now() - seen < MAX_SCHEDULER_AGE
    scheduler = "ok" if is_fresh else "has not reported yet" if seen is None else "has not reported recently"
    response.status_code = 200 if is_fresh and database == "ok" else 503
    return Readiness(
        ready=is_fresh and database == "ok", database=database, scheduler=scheduler, scheduler_seen_at=seen
    )


@router.get("/clusters")
def cluster_reports(db: Reading) -> list[ClusterView]:
    """Return the newest report of every cluster: partitions, nodes and queue."""
    return [ClusterView.model_validate(row, from_attributes=True) for row in clusters.reports(db)]
