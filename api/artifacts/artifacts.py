"""The artifacts of a run: their list, and their download."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import StreamingResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.artifacts.download import send_file, send_folder
from api.artifacts.mirrored import send_copy
from api.database import Reading
from api.errors import NotFound
from api.http.statuses import ITEM, Responses, problems
from api.parameters import RunId
from api.rows import found_run
from api.sentences.mirror import ShownStore, copy_view, store_view
from contract.api.artifacts.views import ArtifactCopy, ArtifactView, RunArtifacts
from contract.folder.outputs.content import size_of_content
from contract.folder.run_folder import RunFolder
from contract.lifecycle.artifact import ArtifactKind, RemovalCause
from store.artifacts import artifacts
from store.mirror import copies, outages
from store.session import snapshot
from store.tables.artifacts import Artifact
from store.tables.runs import Run

router = APIRouter(prefix="/runs", tags=["runs"])
ArtifactName = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9_-]{1,100}$", description="Name of the artifact.", examples=["model"])
]
_BYTES = {"schema": {"type": "string", "format": "binary"}}
DOWNLOAD: Responses = {
    200: {
        "description": "The file; a folder or a checkpoint as a tar archive.",
        "content": {"application/octet-stream": _BYTES, "application/x-tar": _BYTES},
    },
    206: {"description": "The part of the file that `Range` names.", "content": {"application/octet-stream": _BYTES}},
    **problems(404, 409, 416, 422, 503),
}
WHY = {
    RemovalCause.REPLACED: "a later attempt of the run replaced it",
    RemovalCause.RETENTION: "the `keep` of its run allowed its removal",
    RemovalCause.RUN_DELETED: "the run in whose folder it was is deleted",
    RemovalCause.ABSENT: "its files were not there any more",
}


@router.get("/{run_id:id}/artifacts", responses=ITEM)
def list_artifacts(run_id: RunId, db: Reading, request: Request) -> RunArtifacts:
    """Return what the run left: the outputs that its spec names, and the checkpoints of an engine run."""
    run, store = found_run(db, run_id), request.app.state.object_store
    rows = artifacts.of_run(db, run_id)
    found = copies.of_artifacts(db, {row.holder_id for row in rows})
    outage = None if store is None else outages.find(db, store.url)
    shown = None if store is None else ShownStore(store.url, outage)
    items = [_view(row, copy_view(copies.of_artifact(found, row), shown)) for row in rows]
    return RunArtifacts(items=items, taken_from=run.taken_from, object_store=store_view(shown))


@router.get("/{run_id:id}/artifacts/{name}", response_class=StreamingResponse, responses=DOWNLOAD)
def download_artifact(run_id: RunId, name: ArtifactName, request: Request) -> StreamingResponse:
    """Return an artifact: a file as it is, in parts too; a folder or a checkpoint as a tar archive."""
    with snapshot(request.app.state.engine) as db:  # which ends before the file is read
        found_run(db, run_id)
        artifact, key = _found(db, run_id, name)
        copy = copies.find_complete(db, artifact.holder_id, artifact.path)
    folder = RunFolder.of(request.app.state.settings.runs_folder(), artifact.holder_id, key)
    if copy is not None and size_of_content(folder.path, artifact.path) != artifact.size_bytes:
        return send_copy(request, artifact, copy)
    send = send_file if artifact.kind is ArtifactKind.FILE else send_folder
    return send(request, folder.path, artifact)


def _found(db: Session, run_id: int, name: str) -> tuple[Artifact, str]:
    """Return the newest artifact of this name that is there, and the key of the run in whose folder it is."""
    rows = [one for one in artifacts.of_run(db, run_id) if one.name == name]
    there = next((one for one in rows if one.removed_at is None), None)
    if there is None and rows:
        removed = rows[0]
        at = f"{removed.removed_at:%Y-%m-%d %H:%M:%S} UTC" if removed.removed_at else ""
        why = WHY[removed.removed_because] if removed.removed_because else "its files are gone"
        raise NotFound(f"the artifact '{name}' of run {run_id} was removed at {at}: {why}")
    key = None if there is None else db.scalar(select(Run.key).where(Run.id == there.holder_id))
    if there is None or key is None:
        raise NotFound(f"run {run_id} has no artifact '{name}'")
    return there, key


def _view(artifact: Artifact, mirror: ArtifactCopy | None) -> ArtifactView:
    return ArtifactView(
        name=artifact.name,
        kind=artifact.kind,
        attempt=artifact.attempt,
        run=artifact.holder_id,
        path=artifact.path,
        size_bytes=artifact.size_bytes,
        files=artifact.files,
        sha256=artifact.sha256,
        created_at=artifact.created_at,
        removed_at=artifact.removed_at,
        removed_because=artifact.removed_because,
        mirror=mirror,
    )
