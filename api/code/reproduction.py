"""What a run needs to be repeated, and how two runs differ: spec, code, environment."""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from sqlalchemy import Engine

from api.code.differences import compare_trees
from api.http.statuses import ITEM
from api.parameters import MAX_INTEGER, RunId
from api.rows import found_run
from contract.api.reproduction import RunDifferences, ValueDifference
from contract.api.snapshots import SnapshotDifferences
from contract.differences import differences
from contract.folder.environment_record import EnvironmentRecord, read_environment
from contract.folder.run_folder import RunFolder
from contract.snapshot.blob_store import BlobStore, DamagedError
from store.session import snapshot
from store.tables.runs import Run

router = APIRouter(prefix="/runs", tags=["runs"])
MAX_VALUES = 1_000
# variables of one job, or of one process: they differ between any two runs
OWN_VARIABLES = ("SLURM_", "SLURMD_", "BIGBATCH_", "MASTER_", "PMI_", "PMIX_", "OMPI_", "APPTAINER_", "SINGULARITY_")
OWN_NAMES = frozenset({"HOSTNAME", "PWD", "OLDPWD", "TMPDIR", "SHLVL", "_", "RANK", "LOCAL_RANK", "NODE_RANK"})
AttemptNumber = Annotated[
    int | None,
    Query(ge=1, le=MAX_INTEGER, description="Number of the attempt; without it, the latest attempt.", examples=[1]),
]
OtherRun = Annotated[int, Query(ge=0, le=MAX_INTEGER, description="Id of the run to compare with.", examples=[43])]


@router.get("/{run_id:id}/environment", responses=ITEM)
def get_run_environment(run_id: RunId, request: Request, attempt: AttemptNumber = None) -> EnvironmentRecord | None:
    """Return the environment of an attempt of a program; null if there is no record of it."""
    run = _run(request, run_id)
    return find_environment(request, run, attempt)


@router.get("/{run_id:id}/differences", responses=ITEM)
def get_run_differences(run_id: RunId, request: Request, other: OtherRun) -> RunDifferences:
    """Return how the run differs from the run `other`: fields of the spec, files of the code, the environment."""
    first, second = _run(request, run_id), _run(request, other)
    code, code_note = _code(request, first, second)
    environment, environment_note = _environments(request, first, second)
    specs = ({name: value for name, value in run.spec.items() if name != "code"} for run in (first, second))
    return RunDifferences(
        run=run_id,
        other=other,
        spec=_values(*specs),
        code=code,
        code_note=code_note,
        environment=environment,
        environment_note=environment_note,
    )


def _run(request: Request, run_id: int) -> Run:
    """Return the run; the transaction ends before a file is read."""
    engine: Engine = request.app.state.engine
    with snapshot(engine) as db:
        return found_run(db, run_id)


def find_environment(request: Request, run: Run, attempt: int | None = None) -> EnvironmentRecord | None:
    """Return the environment of an attempt of a program, by default of the latest that has a record."""
    runs_folder: Path = request.app.state.settings.runs_folder()
    folder = RunFolder.of(runs_folder, run.id, run.key).path
    if attempt is not None:
        return read_environment(folder, attempt)
    latest = (read_environment(folder, number) for number in range(run.attempt, max(0, run.attempt - 20), -1))
    return next((found for found in latest if found), None)


def _code(request: Request, first: Run, second: Run) -> tuple[SnapshotDifferences | None, str | None]:
    """Return the differences of the files, or why there are none."""
    for run in (first, second):
        if run.code is None:
            return None, f"run {run.id} has no code snapshot"
    if first.code == second.code:
        return None, "both runs have the same code"
    store = BlobStore(request.app.state.settings.snapshots_folder())
    try:
        return compare_trees(store, *(store.read_manifest(run.code or "") for run in (first, second))), None
    except DamagedError as error:
        return None, str(error)


def _environments(request: Request, first: Run, second: Run) -> tuple[list[ValueDifference], str | None]:
    """Return the differences of the environments, or why they are not compared."""
    documents = []
    for run in (first, second):
        found = find_environment(request, run)
        if found is None:
            return [], f"run {run.id} has no record of its environment"
        documents.append(comparable(found))
    return _values(*documents), None


def comparable(found: EnvironmentRecord) -> dict[str, Any]:
    """Return what two environments can have alike: no job's own variables, no moment."""
    document = found.model_dump(mode="json", exclude={"at", "attempt"})
    variables = {
        name: value
        for name, value in found.variables.items()
        if not name.startswith(OWN_VARIABLES) and name not in OWN_NAMES
    }
    return {**document, "variables": variables}


def _values(first: dict[str, Any], second: dict[str, Any]) -> list[ValueDifference]:
    found = islice(differences(first, second), MAX_VALUES)
    return [ValueDifference(path=one.path, first=one.first, second=one.second) for one in found]
