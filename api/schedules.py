"""Schedules: list, store, pause, resume, delete."""

from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from sqlalchemy.orm import Session

from api.database import Reading, Writing
from api.errors import Conflict, Invalid, NotFound
from api.http.bodies import body_of, describe_body
from api.http.statuses import ACTION, CREATION, ITEM, LIST
from api.orders import error_of, folders_of
from api.parameters import MAX_INTEGER, UserName
from contract.api.schedules import (
    NewSchedule,
    ScheduleChange,
    ScheduleDetail,
    Schedules,
    ScheduleStartView,
    ScheduleView,
)
from contract.spec.artifacts.initial_weights import weight_sources
from contract.spec.expanded import Expanded
from contract.validation import ValidationIssue
from orders import acceptance
from orders.checks.code import check_code
from orders.checks.service import check_service
from orders.refused import Refused
from store import schedules
from store.lifecycle.new_steps import codes_of
from store.schedules import MAX_SCHEDULES
from store.tables.base import now
from store.tables.schedules import Schedule
from study.moments import check_cron, moments_after

router = APIRouter(prefix="/schedules", tags=["schedules"])
ScheduleId = Annotated[int, Path(ge=0, le=MAX_INTEGER, description="Id of the schedule.", examples=[4])]
SHOWN = 50  # starts
NOT_VALID = "the schedule is not valid"


class CheckedSchedule:
    """A schedule of a request with its experiment, checked before the request's transaction."""

    def __init__(self, request: Request) -> None:
        self.new = body_of(NewSchedule, what="the schedule")(request)
        experiment = acceptance.read(self.new.experiment)
        if isinstance(experiment, Refused):
            issues = [one.model_copy(update={"path": f"experiment.{one.path}"}) for one in experiment.issues]
            raise Invalid(NOT_VALID, issues)
        self.experiment = experiment
        if refused := check_code(request.app.state.engine, experiment, folders_of(request).snapshots):
            raise error_of(refused)
        if weight_sources(experiment.points):
            message = "the experiments of a schedule start from no other run's weights"
            raise Invalid(NOT_VALID, [ValidationIssue(path="experiment", message=message)])
        _refuse_path(self.new, request.app.state.settings.trigger_folders)
        if self.new.cron is not None and (issue := check_cron(self.new.cron, self.new.time_zone)):
            raise Invalid(NOT_VALID, [ValidationIssue(path="cron", message=issue)])


@router.get("", responses=LIST)
def list_schedules(db: Reading) -> Schedules:
    """Return the schedules, in the order of their names."""
    return Schedules(schedules=[_view(one) for one in schedules.all_schedules(db)])


@router.post(
    "",
    status_code=201,
    responses=CREATION,
    openapi_extra=describe_body(NewSchedule, "The schedule, as JSON or YAML."),
)
def create_schedule(
    checked: Annotated[CheckedSchedule, Depends(CheckedSchedule)], db: Writing, user: UserName = None
) -> ScheduleView:
    """Store a schedule under a name of its own; its experiment is checked as at POST /experiments."""
    new = checked.new
    if refused := check_service(db, checked.experiment, force=False):
        raise error_of(refused)
    if schedules.has_name(db, new.name):
        raise Conflict(f"there is a schedule with the name {new.name}")
    if schedules.count_schedules(db) >= MAX_SCHEDULES:
        raise Conflict(f"there are {MAX_SCHEDULES} schedules, and no more are possible: delete one")
    stored = schedules.add_schedule(
        db,
        _codes_of(checked.experiment),
        name=new.name,
        owner=user or "",
        spec=new.experiment,
        cron=new.cron,
        time_zone=new.time_zone,
        path=new.path,
        missed=new.missed,
        overlap=new.overlap,
        next_at=None if new.cron is None else next(moments_after(new.cron, new.time_zone, now())),
    )
    return _view(stored)


@router.get("/{schedule_id:id}", responses=ITEM)
def get_schedule(schedule_id: ScheduleId, db: Reading) -> ScheduleDetail:
    """Return one schedule with its spec and its newest starts."""
    schedule = db.get(Schedule, schedule_id)
    if schedule is None:
        raise NotFound(f"there is no schedule {schedule_id}")
    starts = [
        ScheduleStartView(
            key=one.key, at=one.at, status=one.status, experiment_id=one.experiment_id, message=one.message
        )
        for one in schedules.starts_of(db, schedule_id, SHOWN)
    ]
    return ScheduleDetail(**_view(schedule).model_dump(), experiment=schedule.spec, starts=starts)


@router.patch(
    "/{schedule_id:id}",
    responses=ACTION,
    openapi_extra=describe_body(ScheduleChange, "The change, as JSON or YAML."),
)
def patch_schedule(
    schedule_id: ScheduleId,
    change: Annotated[ScheduleChange, Depends(body_of(ScheduleChange, what="the change"))],
    db: Writing,
) -> ScheduleView:
    """Pause a schedule, or let it go on."""
    schedule = _locked(db, schedule_id)
    if change.paused:
        schedules.pause(schedule)
    else:
        schedules.resume(schedule)
    return _view(schedule)


@router.delete("/{schedule_id:id}", status_code=204, responses=ACTION)
def delete_schedule(schedule_id: ScheduleId, db: Writing) -> None:
    """Delete a schedule; its experiments stay."""
    schedules.remove(db, _locked(db, schedule_id))


def _locked(db: Session, schedule_id: int) -> Schedule:
    schedule = schedules.lock(db, schedule_id)
    if schedule is None:
        raise NotFound(f"there is no schedule {schedule_id}")
    return schedule


def _codes_of(experiment: Expanded) -> set[str]:
    """Return the hashes of the code snapshots that the experiment names, also those of steps that begin later."""
    known = {run.snapshot for _, run in experiment.points if run.snapshot}
    return known | {code for step in experiment.spec.steps for code in codes_of(step)}


def _refuse_path(new: NewSchedule, folders: list[FilePath]) -> None:
    """Raise Invalid for a file that the service may not look at; links are followed when it looks."""
    if new.path is None:
        return
    path = FilePath(new.path)
    if ".." in path.parts or not any(path.is_relative_to(folder) for folder in folders):
        allowed = ", ".join(map(str, folders)) or "none is set"
        message = f"the file must be below one of the folders of BIGBATCH_TRIGGER_FOLDERS ({allowed})"
        raise Invalid(NOT_VALID, [ValidationIssue(path="path", message=message)])


def _view(schedule: Schedule) -> ScheduleView:
    return ScheduleView(
        id=schedule.id,
        name=schedule.name,
        owner=schedule.owner,
        experiment_name=str(schedule.spec.get("name", "")),
        cron=schedule.cron,
        time_zone=schedule.time_zone,
        path=schedule.path,
        missed=schedule.missed,
        overlap=schedule.overlap,
        next_at=schedule.next_at,
        paused_at=schedule.paused_at,
    )
