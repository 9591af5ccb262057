"""GET /runs/ID/checkpoints: the checkpoints in a run's folder, also while the run goes on."""

from datetime import UTC, datetime

from fastapi import APIRouter, Request
from sqlalchemy import Engine

from api.http.statuses import ITEM
from api.parameters import RunId
from api.rows import found_run
from contract.api.artifacts.checkpoints import CheckpointView, RunCheckpoints
from contract.folder.run_folder import RunFolder
from contract.folder.stored_checkpoints import CheckpointEntry, checkpoint_entries
from store.session import snapshot

router = APIRouter(prefix="/runs", tags=["runs"])
MOST = 20


@router.get("/{run_id:id}/checkpoints", responses=ITEM)
def list_checkpoints(run_id: RunId, request: Request) -> RunCheckpoints:
    """Return the newest checkpoints in the run's folder: what the run resumes from, and what a program saved there."""
    engine: Engine = request.app.state.engine
    with snapshot(engine) as db:  # which ends before the folder is read
        run = found_run(db, run_id)
    folder = RunFolder.of(request.app.state.settings.runs_folder(), run.id, run.key)
    try:
        entries, total = checkpoint_entries(folder.path, MOST)
    except FileNotFoundError:  # the run has not been submitted yet
        entries, total = [], 0
    return RunCheckpoints(items=[_view(entry) for entry in entries], total=total, folder=str(folder.checkpoints))


def _view(entry: CheckpointEntry) -> CheckpointView:
    return CheckpointView(
        name=entry.name,
        step=entry.checkpoint.step if entry.checkpoint else None,
        attempt=entry.checkpoint.attempt if entry.checkpoint else None,
        is_complete=entry.is_complete,
        size_bytes=entry.size_bytes,
        written_at=datetime.fromtimestamp(entry.written_at, UTC),
    )
