"""Failed runs of an experiment, with the first rank that failed in each."""

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select

from api.database import Reading
from api.folder_reading import FolderReading
from api.http.statuses import ITEM
from api.parameters import AfterNumber, ExperimentId, Limit
from api.render import ended_attempt, sentence_of
from api.rows import see_experiment
from contract.api.responses import FailedRun, Page
from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from store import jobs
from store.tables.runs import Run

router = APIRouter(prefix="/experiments", tags=["experiments"])


@router.get("/{experiment_id:id}/failures", responses=ITEM)
def list_failures(
    experiment_id: ExperimentId, db: Reading, request: Request, after: AfterNumber = -1, limit: Limit = 50
) -> Page[FailedRun]:
    """Return the failed runs in the order of the experiment's grid; `after=next` gives the next page."""
    see_experiment(db, experiment_id)
    mine = (Run.experiment_id == experiment_id, Run.state == State.FAILED, Run.number > after, Run.deleted_at.is_(None))
    rows = db.scalars(select(Run).where(*mine).order_by(Run.number).limit(limit + 1)).all()
    shown = rows[:limit]
    ended = jobs.last_ended_attempts(db, [run.id for run in shown])
    root: Path = request.app.state.settings.runs_folder()
    items = []
    for run in shown:
        last = ended_attempt(ended[run.id], has_failed=True) if run.id in ended else None
        failure = FolderReading(RunFolder.of(root, run.id, run.key)).diagnose(last)
        items.append(FailedRun(**_plain(run), failure=failure))
    return Page(items=items, next=shown[-1].number if len(rows) > limit else None)


def _plain(run: Run) -> dict[str, Any]:
    return {name: getattr(run, name) for name in ("id", "number", "values", "step")} | {"reason": sentence_of(run)}
