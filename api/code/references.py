"""The check of the code snapshots that an experiment names: the service must have them."""

from collections.abc import Iterator

from fastapi import Request

from api.errors import Invalid
from contract.snapshot.blob_store import BlobStore, DamagedError
from contract.spec.experiment import MAX_ISSUES, ExperimentSpec
from contract.validation import ValidationIssue
from store.session import transaction
from store.snapshots import snapshots

Uses = dict[str, set[str]]  # hash of a snapshot -> folders in it that runs start in, "" for its top


def refuse_absent_code(request: Request, spec: ExperimentSpec) -> None:
    """Refuse snapshots that the service lacks and folders that they lack; protect the others from being removed."""
    uses: Uses = {}
    for _, run in spec.points():
        if run.kind == "program" and run.code:
            uses.setdefault(run.code, set()).add(run.subfolder or "")
    if not uses:
        return
    with transaction(request.app.state.engine) as db:
        absent = snapshots.missing(db, list(uses))
    files = BlobStore(request.app.state.settings.snapshots_folder())
    issues = [
        ValidationIssue(path=spec.grid.path_in_document(issue.path, 0), message=issue.message)
        for issue in _issues(files, uses, absent)
    ]
    if issues:
        raise Invalid("the service lacks code of the experiment", issues[:MAX_ISSUES])


def _issues(files: BlobStore, uses: Uses, absent: list[str]) -> Iterator[ValidationIssue]:
    for name, folders in uses.items():
        if name in absent:
            message = f"the service has no snapshot {name}: take it with `bigbatch submit` or `client.snapshot(folder)`"
            yield ValidationIssue(path="code", message=message)
            continue
        try:
            paths = files.read_manifest(name).by_path if folders != {""} else {}
        except DamagedError as error:
            yield ValidationIssue(path="code", message=f"{error}: take the snapshot again")
            continue
        for folder in sorted(folders - {""}):
            if not any(path.startswith(f"{folder.rstrip('/')}/") for path in paths):
                yield ValidationIssue(path="subfolder", message=f"the snapshot {name} has no folder '{folder}'")
