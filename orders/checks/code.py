"""The check of the code snapshots that an experiment names: the service must have them."""

from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath

from sqlalchemy import Engine

from contract.snapshot.blob_store import BlobStore, DamagedError
from contract.snapshot.manifest import Manifest, SnapshotFile, make_manifest
from contract.spec.base_run import CodeStart
from contract.spec.expanded import Expanded
from contract.spec.grid.step_grid import MAX_ISSUES
from contract.validation import ValidationIssue
from orders.refused import Refused
from store import snapshots
from store.session import transaction

Uses = dict[CodeStart, int]  # the first point that starts so
NOT_TAKEN = "a file that .gitignore names is not taken"
Found = tuple[int, ValidationIssue]  # the number of the point, and what is wrong


def check_code(engine: Engine, experiment: Expanded, snapshots_folder: Path) -> Refused | None:
    """Refuse snapshots that the service lacks and folders that they lack; protect the others from being removed.

    It reads files, so the caller holds no transaction.
    """
    uses: Uses = {}
    for number, (_, run) in enumerate(experiment.points):
        if start := run.code_start:
            uses.setdefault(start, number)
    if not uses:
        return None
    with transaction(engine) as db:
        absent = snapshots.missing(db, [name for name, *_ in uses])
    files = BlobStore(snapshots_folder)
    issues = [
        ValidationIssue(path=experiment.place(issue.path, number), message=issue.message)
        for number, issue in _issues(files, uses, absent)
    ]
    return Refused("the service lacks code of the experiment", issues[:MAX_ISSUES]) if issues else None


def _issues(files: BlobStore, uses: Uses, absent: list[str]) -> Iterator[Found]:
    for name in dict.fromkeys(name for name, *_ in uses):
        starts = {(folder, program): number for (its, folder, program), number in uses.items() if its == name}
        first = min(starts.values())
        if name in absent:
            message = f"the service has no snapshot {name}: take it with `bigbatch submit` or `client.snapshot(folder)`"
            yield first, ValidationIssue(path="code", message=message)
            continue
        try:
            manifest = files.read_manifest(name) if starts.keys() != {("", "")} else make_manifest([])
        except DamagedError as error:
            yield first, ValidationIssue(path="code", message=f"{error}: take the snapshot again")
            continue
        for (folder, program), number in starts.items():
            yield from ((number, issue) for issue in _start_issues(name, manifest, folder, program))


def _start_issues(name: str, manifest: Manifest, folder: str, program: str) -> Iterator[ValidationIssue]:
    """Yield what a start in this folder of the snapshot lacks."""
    paths = manifest.by_path
    if folder and not any(path.startswith(f"{folder.rstrip('/')}/") for path in paths):
        yield ValidationIssue(path="subfolder", message=f"the snapshot {name} has no folder '{folder}'")
        return
    path = normpath(f"{folder}/{program}").lstrip("/") if program else ""
    if not path or path.startswith("../") or any(path.startswith(f"{link.path}/") for link in manifest.links):
        return
    entry = paths.get(path)
    if entry is None:
        yield ValidationIssue(path="command", message=f"the snapshot has no file '{path}': {NOT_TAKEN}")
    elif isinstance(entry, SnapshotFile) and not entry.executable:
        yield ValidationIssue(path="command", message=f"{path} may not be executed: chmod +x {program}")
