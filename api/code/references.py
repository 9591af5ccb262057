"""The check of the code snapshots that an experiment names: the service must have them."""

from collections.abc import Iterator

from fastapi import Request

from api.errors import Invalid
from contract.snapshot.blob_store import BlobStore, DamagedError
from contract.spec.experiment import MAX_ISSUES, ExperimentSpec
from contract.validation import ValidationIssue
from store.session import transaction
from store.snapshots import snapshots

Uses = dict[tuple[str, str], int]  # snapshot and folder in it, "" for its top -> the first point that starts there
Found = tuple[int, ValidationIssue]  # the number of the point, and what is wrong


def refuse_absent_code(request: Request, spec: ExperimentSpec) -> None:
    """Refuse snapshots that the service lacks and folders that they lack; protect the others from being removed."""
    uses: Uses = {}
    for number, (_, run) in enumerate(spec.points()):
        if run.kind == "program" and run.code:
            uses.setdefault((run.code, run.subfolder or ""), number)
    if not uses:
        return
    with transaction(request.app.state.engine) as db:
        absent = snapshots.missing(db, [name for name, _ in uses])
    files = BlobStore(request.app.state.settings.snapshots_folder())
    issues = [
        ValidationIssue(path=spec.grid.path_in_document(issue.path, number), message=issue.message)
        for number, issue in _issues(files, uses, absent)
    ]
    if issues:
        raise Invalid("the service lacks code of the experiment", issues[:MAX_ISSUES])


def _issues(files: BlobStore, uses: Uses, absent: list[str]) -> Iterator[Found]:
    for name in dict.fromkeys(name for name, _ in uses):
        folders = {folder: number for (its, folder), number in uses.items() if its == name}
        first = min(folders.values())
        if name in absent:
            message = f"the service has no snapshot {name}: take it with `bigbatch submit` or `client.snapshot(folder)`"
            yield first, ValidationIssue(path="code", message=message)
            continue
        try:
            paths = files.read_manifest(name).by_path if folders.keys() != {""} else {}
        except DamagedError as error:
            yield first, ValidationIssue(path="code", message=f"{error}: take the snapshot again")
            continue
        for folder, number in folders.items():
            if folder and not any(path.startswith(f"{folder.rstrip('/')}/") for path in paths):
                yield number, ValidationIssue(path="subfolder", message=f"the snapshot {name} has no folder '{folder}'")
