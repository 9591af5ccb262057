"""Code snapshots: upload what the service lacks, read and compare the trees."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from sqlalchemy import Engine

from api.code.differences import compare_trees
from api.code.uploads import receive_pack, snapshot_request
from api.database import Reading
from api.errors import FolderUnavailable, Invalid, NotFound, UnreadableFile
from api.http.statuses import ITEM, UPLOAD, problems
from contract.api.snapshots import (
    FileContent,
    FilePage,
    Received,
    SnapshotDifferences,
    SnapshotRequest,
    SnapshotState,
    SnapshotView,
)
from contract.snapshot.blob_store import BlobStore, DamagedError
from contract.snapshot.check_paths import check_manifest
from contract.snapshot.git_source import GitSource
from contract.snapshot.manifest import (
    EXAMPLE_HASH,
    HASH_PATTERN,
    MAX_PATH_CHARS,
    Manifest,
    SnapshotFile,
    change_manifest,
    make_manifest,
)
from store import snapshots
from store.session import snapshot, transaction
from store.tables.snapshots import Snapshot

router = APIRouter(prefix="/snapshots", tags=["snapshots"])
MAX_TEXT_BYTES = 1_000_000
SCHEMA = {"schema": {"$ref": "#/components/schemas/SnapshotRequest"}}
REQUEST = {
    "requestBody": {
        "description": "The tree as JSON, of up to 1 MB; a larger one is compressed by gzip.",
        "required": True,
        "content": {"application/json": SCHEMA, "application/gzip": {"schema": {"type": "string", "format": "binary"}}},
    }
}
PACK = {
    "requestBody": {
        "description": "For each content its SHA-256 (32 bytes), its length (8 bytes, big endian), and its bytes.",
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
SnapshotHash = Annotated[str, Path(pattern=HASH_PATTERN, description="Hash of the snapshot.", examples=[EXAMPLE_HASH])]
OtherHash = Annotated[
    str, Query(pattern=HASH_PATTERN, description="Hash of the snapshot to compare with.", examples=[EXAMPLE_HASH])
]
FilePath = Annotated[
    str,
    Query(min_length=1, max_length=MAX_PATH_CHARS, description="Path of the file in the tree.", examples=["train.py"]),
]
AfterPath = Annotated[
    str,
    Query(
        max_length=MAX_PATH_CHARS,
        description="Return only files whose path comes after this one: the last path of the page before.",
        examples=["models/net.py"],
    ),
]
STORED = ITEM | problems(409)


@router.post("", openapi_extra=REQUEST, responses=UPLOAD)
def store_snapshot(wanted: Annotated[SnapshotRequest, Depends(snapshot_request)], request: Request) -> SnapshotState:
    """Store a snapshot whose contents the service has; otherwise name the contents that it lacks."""
    files, engine = blob_store(request), request.app.state.engine
    if wanted.base and not (wanted.files or wanted.links or wanted.removed):
        return _renew(files, engine, wanted.base)
    try:
        base = files.read_manifest(wanted.base) if wanted.base else make_manifest([])
    except DamagedError as error:
        raise NotFound(f"there is no snapshot {wanted.base}") from error
    if wanted.base:
        manifest = change_manifest(base, [*wanted.files, *wanted.links], wanted.removed)
    else:
        manifest = make_manifest([*wanted.files, *wanted.links])
    if issues := check_manifest(manifest):
        raise Invalid("the tree of the snapshot is not allowed", issues)
    try:
        return _store(files, engine, manifest, wanted.source)
    except OSError as error:
        raise FolderUnavailable(f"the snapshot cannot be stored: {error.strerror}") from error


@router.post("/blobs", openapi_extra=PACK, responses=UPLOAD)
async def upload_blobs(request: Request) -> Received:
    """Store contents of files, each checked against its hash; contents that arrived whole stay."""
    return Received(blobs=await receive_pack(request, blob_store(request)))


@router.get("/{name:hash}", responses=ITEM)
def get_snapshot(name: SnapshotHash, db: Reading) -> SnapshotView:
    """Return one snapshot: its size, and where its tree came from."""
    row = snapshots.find(db, name)
    if row is None:
        raise NotFound(f"there is no snapshot {name}")
    return snapshot_view(row)


@router.get("/{name:hash}/files", responses=STORED)
def list_snapshot_files(
    name: SnapshotHash,
    request: Request,
    after: AfterPath = "",
    limit: Annotated[int, Query(ge=1, le=5_000, description="Largest number of files and links.")] = 1_000,
) -> FilePage:
    """Return the files and links of a snapshot in the order of their paths."""
    manifest = read_manifest(request, name)
    rest = [entry for _, entry in sorted(manifest.by_path.items()) if entry.path > after]
    shown = make_manifest(rest[:limit])
    return FilePage(files=list(shown.files), links=list(shown.links), more=len(rest) > limit)


@router.get("/{name:hash}/file", responses=STORED)
def get_snapshot_file(name: SnapshotHash, request: Request, path: FilePath) -> FileContent:
    """Return the content of one file, at most its first megabyte."""
    entry = read_manifest(request, name).by_path.get(path)
    if not isinstance(entry, SnapshotFile):
        raise NotFound(f"the snapshot {name} has no file '{path}'")
    try:
        with blob_store(request).open_blob(entry.sha256) as file:
            content = file.read(0, MAX_TEXT_BYTES)
    except DamagedError as error:
        raise UnreadableFile(str(error)) from error
    is_shortened = len(content) < entry.size
    try:
        text = content.decode("utf-8", "ignore" if is_shortened else "strict")
    except UnicodeDecodeError:
        text = None
    return FileContent(path=path, size=entry.size, text=text, is_shortened=is_shortened)


@router.get("/{name:hash}/differences", responses=STORED)
def get_snapshot_differences(name: SnapshotHash, request: Request, against: OtherHash) -> SnapshotDifferences:
    """Return the files in which the snapshot `against` differs from this one, with the differences as text."""
    return compare_trees(blob_store(request), read_manifest(request, name), read_manifest(request, against))


def blob_store(request: Request) -> BlobStore:
    """Return the store of snapshots that the settings name."""
    return BlobStore(request.app.state.settings.snapshots_folder())


def read_manifest(request: Request, name: str) -> Manifest:
    """Return the manifest of a snapshot that is stored; raise NotFound or UnreadableFile."""
    with snapshot(request.app.state.engine) as db:
        if snapshots.find(db, name) is None:
            raise NotFound(f"there is no snapshot {name}")
    try:
        return blob_store(request).read_manifest(name)
    except DamagedError as error:
        raise UnreadableFile(str(error)) from error


def snapshot_view(row: Snapshot) -> SnapshotView:
    """Return a snapshot as a response."""
    source = GitSource.model_validate({name: getattr(row, name) for name in GitSource.model_fields})
    return SnapshotView(
        hash=row.hash,
        created_at=row.created_at,
        files=row.files,
        size=row.size,
        is_dirty=source.is_dirty,
        source=source if row.has_git else None,
    )


def _renew(files: BlobStore, engine: Engine, name: str) -> SnapshotState:
    with transaction(engine) as db:
        is_stored = snapshots.renew(db, name)
    if not (is_stored and files.renew_manifest(name)):
        raise NotFound(f"there is no snapshot {name}")
    return SnapshotState(hash=name, is_stored=True, missing=[])


def _store(files: BlobStore, engine: Engine, manifest: Manifest, source: GitSource | None) -> SnapshotState:
    """Store the manifest after its contents, and the row after the manifest: a row stands for a complete snapshot."""
    files.prepare()
    missing = sorted(blob for blob, size in manifest.sizes.items() if not files.renew(blob, size))
    if missing:
        return SnapshotState(hash=manifest.hash(), is_stored=False, missing=missing)
    name = files.write_manifest(manifest)
    with transaction(engine) as db:
        snapshots.store(db, name, manifest, source)
    return SnapshotState(hash=name, is_stored=True, missing=[])
