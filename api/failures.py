"""Which runs of an experiment failed, and which rank of each was the first."""

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select

from api.database import Reading
from api.errors import NotFound
from api.parameters import Id, Limit, Step
from api.render import ended
from contract.api.responses import FailedRun, Page
from contract.diagnosis.diagnose import failure_of
from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from store import jobs as attempts
from store.tables import Experiment, Run

router = APIRouter(prefix="/experiments", tags=["experiments"])


@router.get("/{experiment_id}/failures")
def failures(experiment_id: Id, db: Reading, request: Request, after: Step = -1, limit: Limit = 50) -> Page[FailedRun]:
    """The experiment's runs that failed, in the order of its grid; ask for the next page with `after=next`."""
    if not db.get(Experiment, experiment_id):
        raise NotFound(f"there is no experiment {experiment_id}")
    mine = (Run.experiment_id == experiment_id, Run.state == State.FAILED, Run.number > after)
    rows = db.scalars(select(Run).where(*mine).order_by(Run.number).limit(limit + 1)).all()
    shown = rows[:limit]
    tried = attempts.last_of(db, [run.id for run in shown])
    root: Path = request.app.state.settings.runs_folder()
    items = []
    for run in shown:
        folder, last = RunFolder.of(root, run.id, run.key), tried.get(run.id)
        failure = failure_of(folder, ended(last, run.cluster)) if last else None
        items.append(FailedRun(**_plain(run), failure=failure))
    return Page(items=items, next=shown[-1].number if len(rows) > limit else None)


def _plain(run: Run) -> dict[str, Any]:
    return {name: getattr(run, name) for name in ("id", "number", "values", "step", "reason")}
