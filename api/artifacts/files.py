"""GET /runs/ID/files: what a program wrote into its run's folder, also while the run goes on; and each file."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import StreamingResponse
from sqlalchemy import Engine

from api.artifacts.download import send_written_file
from api.errors import NotFound
from api.http.statuses import ITEM, Responses, problems
from api.parameters import NO_NUL, RunId
from api.rows import found_run
from contract.api.artifacts.files import FileView, RunFiles, SubmittedJobView
from contract.folder.bounds import clamp_moment
from contract.folder.run_folder import RunFolder
from contract.folder.written_files import is_written_path, list_written_files, read_submitted_jobs
from store.session import snapshot

router = APIRouter(prefix="/runs", tags=["runs"])
MOST = 500
FilePath = Annotated[
    str,
    Path(
        min_length=1,
        max_length=4096,
        pattern=NO_NUL,
        description="Path in the run's folder.",
        examples=["work/ckpt.pt"],
    ),
]
_BYTES = {"schema": {"type": "string", "format": "binary"}}
DOWNLOAD: Responses = {
    200: {"description": "The file.", "content": {"application/octet-stream": _BYTES}},
    206: {"description": "The part of the file that `Range` names.", "content": {"application/octet-stream": _BYTES}},
    **problems(404, 416, 422, 503),
}


@router.get("/{run_id:id}/files", responses=ITEM)
def list_files(run_id: RunId, request: Request) -> RunFiles:
    """Return the files that the run's program wrote, and the jobs that it submitted to Slurm itself."""
    folder = _folder(run_id, request)
    try:
        found, jobs = list_written_files(folder.path, MOST), read_submitted_jobs(folder.path)
    except FileNotFoundError:  # the run has not been submitted yet
        return RunFiles(items=[], total=0, size_bytes=0, is_cut=False, folder=str(folder.path), jobs=[])
    return RunFiles(
        items=[
            FileView(path=one.path, size_bytes=one.size_bytes, written_at=_moment(one.written_at))
            for one in found.newest
        ],
        total=found.total,
        size_bytes=found.size_bytes,
        is_cut=found.is_cut,
        folder=str(folder.path),
        jobs=[SubmittedJobView(id=job.id, submitted_at=_moment(job.submitted_at)) for job in jobs],
    )


@router.get("/{run_id:id}/files/{path:path}", response_class=StreamingResponse, responses=DOWNLOAD)
def download_file(run_id: RunId, path: FilePath, request: Request) -> StreamingResponse:
    """Return a file that the run's program wrote, in parts too."""
    folder = _folder(run_id, request)
    parts = path.split("/")
    if not is_written_path(path) or any(part in ("", ".", "..") for part in parts):
        raise NotFound(f"run {run_id} has no file '{path}'")
    return send_written_file(request, folder.path, path, run_id)


def _folder(run_id: int, request: Request) -> RunFolder:
    engine: Engine = request.app.state.engine
    with snapshot(engine) as db:  # which ends before the folder is read
        run = found_run(db, run_id)
    return RunFolder.of(request.app.state.settings.runs_folder(), run.id, run.key)


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(clamp_moment(at), UTC)
