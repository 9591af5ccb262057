"""Experiments and runs that were carried out elsewhere: stored by clients, which also send their points."""

from typing import Annotated

from fastapi import APIRouter, Depends
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from api.database import Writing
from api.errors import Conflict, NotFound
from api.http.bodies import body_of, describe_body
from api.http.statuses import CHANGE, CREATION
from api.parameters import ExperimentId, IdempotencyKey, UserName
from contract.api.incoming.recording import RecordedRuns, RecordedRunsRequest, Recording, RecordingRequest
from contract.spec.grid.grid import MAX_POINTS
from contract.spec.recorded.stored_run import is_recorded
from store import experiments
from store.lifecycle import added_points
from store.recorded import recordings
from store.tables.experiments import Experiment
from store.tables.runs import Run

router = APIRouter(prefix="/recordings", tags=["recordings"])
NewRecording = Annotated[RecordingRequest, Depends(body_of(RecordingRequest, what="the recording"))]
NewRuns = Annotated[RecordedRunsRequest, Depends(body_of(RecordedRunsRequest, what="the request"))]


@router.post(
    "", status_code=201, responses=CREATION, openapi_extra=describe_body(RecordingRequest, "The new experiment.")
)
def create_recording(
    asked: NewRecording, db: Writing, idempotency_key: IdempotencyKey = None, user: UserName = None
) -> Recording:
    """Store an experiment for runs that were carried out elsewhere; a repeated key is carried out once."""
    if idempotency_key and (made := experiments.created_by(db, idempotency_key)):
        experiment, _ = made
        if experiment.deleted_at is not None or not is_recorded(experiment.spec.get("base")):
            raise Conflict(f"experiment {experiment.id} was made with this Idempotency-Key, and is deleted or another")
        return Recording(id=experiment.id)
    try:
        return Recording(id=recordings.create(db, asked, key=idempotency_key, owner=user or ""))
    except IntegrityError as error:
        raise Conflict("a request with this Idempotency-Key is being carried out: send it again") from error


@router.post(
    "/{experiment_id:id}/runs",
    responses=CHANGE,
    openapi_extra=describe_body(RecordedRunsRequest, "The runs, each with a key of its own."),
)
def add_recorded_runs(experiment_id: ExperimentId, asked: NewRuns, db: Writing) -> RecordedRuns:
    """Store runs that were carried out elsewhere, as done; runs with keys that the experiment has stay as they are."""
    experiment = added_points.lock(db, experiment_id)
    if experiment is None:
        raise NotFound(f"there is no experiment {experiment_id}")
    _check_place(experiment)
    added = recordings.add_runs(db, experiment, asked.runs)
    if added.new and len(db.scalars(select(Run.id).where(Run.experiment_id == experiment_id)).all()) > MAX_POINTS:
        raise Conflict(f"an experiment has at most {MAX_POINTS:,} runs")
    return RecordedRuns(runs=added.ids, new=added.new)


def _check_place(experiment: Experiment) -> None:
    if not is_recorded(experiment.spec.get("base")):
        message = f"experiment {experiment.id} is carried out by this service: make a recording for other runs"
        raise Conflict(message)
