"""Points that clients send over HTTP: numbered batches, each stored as a whole and once."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from api.database import Reading
from api.errors import Conflict, NotFound
from api.http.bodies import REFERENCE
from api.http.json_body import json_body_of
from api.http.statuses import CHANGE, ITEM
from api.parameters import RunId
from api.rows import found_run
from contract.api.incoming.points_batch import PointsBatch, PointsReceived, Writers
from contract.spec.recorded.stored_run import is_recorded
from contract.validation import ValidationIssue
from store.locks import lock_runs
from store.recorded import writers
from store.recorded.batches import store_batch
from store.recorded.writers import SequenceGapError, TooManyWritersError
from store.session import transaction
from store.tables.runs import Run

router = APIRouter(prefix="/runs", tags=["runs"])
MAX_BYTES = 8_000_000
BODY = {
    "requestBody": {
        "description": "The batch, as JSON.",
        "required": True,
        "content": {"application/json": {"schema": {"$ref": REFERENCE.format(model=PointsBatch.__name__)}}},
    }
}
_batch = json_body_of(PointsBatch, what="the batch", max_bytes=MAX_BYTES, hint=": send several")


@router.post("/{run_id:id}/points", responses=CHANGE, openapi_extra=BODY)
def post_run_points(run_id: RunId, batch: Annotated[PointsBatch, Depends(_batch)], request: Request) -> PointsReceived:
    """Store a batch of points of a run of a program, or of a run that was carried out elsewhere.

    A batch that is stored already changes nothing. A batch whose predecessor is missing is refused (409).
    """
    engine: Engine = request.app.state.engine
    with transaction(engine) as db:
        _lock(db, run_id)
        try:
            stored = store_batch(db, run_id, batch)
        except SequenceGapError as error:
            message = f"expected {error.expected}, not {batch.sequence}: the batches before are missing"
            issue = ValidationIssue(path="sequence", message=message)
            raise Conflict(f"batch {batch.sequence} came before batch {error.expected}", [issue]) from error
        except TooManyWritersError as error:
            raise Conflict(str(error), [ValidationIssue(path="writer", message=str(error))]) from error
        return PointsReceived(stored=stored, next=writers.of_run(db, run_id)[batch.writer] + 1)


@router.get("/{run_id:id}/writers", responses=ITEM)
def get_run_writers(run_id: RunId, db: Reading) -> Writers:
    """Return who has sent points of the run, and the number of each one's next batch."""
    found_run(db, run_id)
    return Writers(next={name: stored + 1 for name, stored in writers.of_run(db, run_id).items()})


def _lock(db: Session, run_id: int) -> None:
    """Lock the run; raise NotFound or Conflict if it takes no points."""
    if not lock_runs(db, Run.id == run_id, Run.deleted_at.is_(None)):
        raise NotFound(f"there is no run {run_id}")
    spec, removed_at = db.execute(select(Run.spec, Run.points_removed_at).where(Run.id == run_id)).one()
    if not is_recorded(spec) and spec.get("kind") != "program":
        raise Conflict(f"run {run_id} trains by the engine, which reports the points itself")
    if removed_at is not None:
        raise Conflict(f"the points of run {run_id} were removed, as the service's retention says")
