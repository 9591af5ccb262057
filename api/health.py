"""Is the service alive, and can it do its work?"""

from datetime import timedelta
from importlib.metadata import version

from fastapi import APIRouter, Response
from sqlalchemy.exc import SQLAlchemyError

from api.database import Reading
from contract.api.responses import ClusterView, Health, Readiness
from store import clusters
from store.tables import now

router = APIRouter(tags=["service"])
SILENCE = timedelta(seconds=90)  # the scheduler looks every few seconds; a Slurm that hangs takes it a minute


@router.get("/health")
def health() -> Health:
    """The process answers."""
    return Health(ok=True, version=version("bigbatch"))


@router.get("/ready", responses={503: {"model": Readiness}})
def ready(db: Reading, response: Response) -> Readiness:
    """200 when the database answers and the scheduler was seen lately; 503 and what is wrong otherwise."""
    try:
        seen = max((row.asked_at for row in clusters.all_of(db)), default=None)
        database = "ok"
    except SQLAlchemyError as error:
        seen, database = None, str(error).splitlines()[0]
    awake = seen is not None and now() - seen < SILENCE
    scheduler = "ok" if awake else "has not been seen yet" if seen is None else "was not seen lately"
    response.status_code = 200 if awake and database == "ok" else 503
    return Readiness(ready=awake and database == "ok", database=database, scheduler=scheduler, scheduler_seen_at=seen)


@router.get("/clusters")
def cluster_reports(db: Reading) -> list[ClusterView]:
    """Partitions, nodes and queue of every cluster, as it last told the scheduler."""
    return [ClusterView.model_validate(row, from_attributes=True) for row in clusters.all_of(db)]
