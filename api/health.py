"""Endpoints of the service's health: liveness and readiness."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib.metadata import version

from fastapi import APIRouter, Request, Response
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from api.access.guard import HAS_ACCESS_KEY
from api.database import Attempt
from api.http.statuses import UNCHANGED, problems
from contract.api.service import Health, Readiness
from store import clusters, database_state, ticks
from store.tables.base import now
from store.tables.clusters import Cluster
from store.ticks import LateTick

router = APIRouter(tags=["service"])
CLOSED, UNKNOWN = "does not work", "has not been seen"  # all that a request without access learns of a part
MAX_SCHEDULER_AGE = timedelta(seconds=90)  # the scheduler reports every few seconds; with a slow Slurm every minute


@router.get("/health", responses=UNCHANGED)
def get_health() -> Health:
    """Return that the API process answers."""
    return Health(ok=True, version=version("bigbatch"))


@router.get("/ready", responses=UNCHANGED | {503: {"model": Readiness, **problems(503)[503]}})
def get_readiness(attempt: Attempt, request: Request, response: Response) -> Readiness:
    """Return 200 if the database works and every tick of the scheduler succeeds, and no
    cluster's report is late or cannot be read; else 503 with the problem, or without
    access with the part that has one."""
    database, scheduler, seen = _look(attempt)
    is_ready = database is None and scheduler is None
    response.status_code = 200 if is_ready else 503
    if not request.scope[HAS_ACCESS_KEY]:  # a message may name the database's host and account
        database, scheduler = database and CLOSED, scheduler and (CLOSED if seen else UNKNOWN)
    return Readiness(ready=is_ready, database=database or "ok", scheduler=scheduler or "ok", scheduler_seen_at=seen)


def _look(attempt: Session | SQLAlchemyError) -> tuple[str | None, str | None, datetime | None]:
    """Return what is wrong with the database and with the scheduler, and when that reported last."""
    try:
        if isinstance(attempt, SQLAlchemyError):
            raise attempt
        wrong, reports, late = database_state.problem(attempt), clusters.reports(attempt), ticks.late(attempt)
    except SQLAlchemyError as error:
        return database_state.told(error) or str(error).splitlines()[0], UNKNOWN, None
    return wrong, _problem(reports, late), max((row.asked_at for row in reports), default=None)


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
