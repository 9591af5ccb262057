"""Endpoints of the service's health: liveness and readiness."""

from collections.abc import Sequence
from datetime import timedelta
from importlib.metadata import version

from fastapi import APIRouter, Request, Response
from sqlalchemy.exc import SQLAlchemyError

from api.access.guard import HAS_ACCESS_KEY
from api.database import Reading
from api.http.statuses import UNCHANGED, problems
from contract.api.service import Health, Readiness
from store import clusters, ticks
from store.tables import Cluster, now
from store.ticks import LateTick

router = APIRouter(tags=["service"])
MAX_SCHEDULER_AGE = timedelta(seconds=90)  # the scheduler reports every few seconds; with a slow Slurm every minute


@router.get("/health", responses=UNCHANGED)
def get_health() -> Health:
    """Return that the API process answers."""
    return Health(ok=True, version=version("bigbatch"))


@router.get("/ready", responses=UNCHANGED | {503: {"model": Readiness, **problems(503)[503]}})
def get_readiness(db: Reading, request: Request, response: Response) -> Readiness:
    """Return 200 if the database answers and every tick of the scheduler succeeds, and no
    cluster's report is late or cannot be read; else 503 with the problem."""
    try:
        reports = clusters.reports(db)
        late, database = ticks.late(db), "ok"
    except SQLAlchemyError as error:
        # The message may name the database's host and account, so a request without access does not get it.
        message = str(error).splitlines()[0] if request.scope[HAS_ACCESS_KEY] else "does not answer"
        reports, late, database = [], [], message
    problem, seen = _problem(reports, late), max((row.asked_at for row in reports), default=None)
    is_ready = problem is None and database == "ok"
    response.status_code = 200 if is_ready else 503
    return Readiness(ready=is_ready, database=database, scheduler=problem or "ok", scheduler_seen_at=seen)


def _problem(reports: Sequence[Cluster], late: Sequence[LateTick]) -> str | None:
    """Return why the scheduler does not work; None if it works.

    A cluster that is silent is no fault of the service; one whose answers cannot be read needs another version of it.
    """
    asked = {row.kind: row.asked_at for row in reports}
    if not asked:
        return "has not reported yet"
    if late:
        return "; ".join(f"the tick {tick.name} last succeeded {tick.age.total_seconds():.0f} s ago" for tick in late)
    present = now()
    if present - max(asked.values()) >= MAX_SCHEDULER_AGE:
        return "has not reported recently"
    ages = {kind: present - at for kind, at in asked.items() if present - at > clusters.LATE_AFTER}
    problems = [f"the report of {kind} is {age.total_seconds():.0f} s old" for kind, age in ages.items()]
    problems += [
        f"{row.kind}: {clusters.UNREADABLE}" for row in reports if (row.error or "").startswith(clusters.UNREADABLE)
    ]
    return "; ".join(problems) or None
