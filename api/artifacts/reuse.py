"""Why a run was carried out although it asks for a finished run's result: what differs from the nearest one."""

from collections.abc import Iterator

from fastapi import APIRouter, Request

from api.code.differences import compare_trees
from api.http.statuses import ITEM
from api.parameters import RunId
from api.rows import found_run
from api.sentences.reuse import miss_sentence
from contract.api.artifacts.reuse import InputDifference, RunReuse
from contract.api.reproduction import ValueDifference
from contract.api.snapshots import SnapshotDifferences
from contract.lifecycle.reuse import Reuse
from contract.snapshot.blob_store import BlobStore, DamagedError
from store.artifacts.nearest import Compared, nearest_finished
from store.session import snapshot
from store.tables.runs import Run

router = APIRouter(prefix="/runs", tags=["runs"])


@router.get("/{run_id:id}/reuse", responses=ITEM)
def get_reuse(run_id: RunId, request: Request) -> RunReuse:
    """Return whether the run took a finished run's result; if not, how it differs from the nearest finished run."""
    with snapshot(request.app.state.engine) as db:  # which ends before files are read
        run = found_run(db, run_id)
        nearest = None if run.taken_from is not None else nearest_finished(db, run)
    code = None if nearest is None else _code(request, run, nearest)
    spec = [] if nearest is None else nearest.spec
    return RunReuse(
        asked=bool(run.spec.get("reuse")),
        taken_from=run.taken_from,
        sentence=_sentence(run, nearest, code),
        nearest=nearest and nearest.id,
        spec=[ValueDifference(path=one.path, first=one.first, second=one.second) for one in spec],
        code=code,
        inputs=[] if nearest is None else list(_inputs(run, nearest)),
    )


def _sentence(run: Run, nearest: Compared | None, code: SnapshotDifferences | None) -> str:
    if run.taken_from is not None:
        return f"taken from run {run.taken_from}"
    if not run.spec.get("reuse"):
        return "carried out: the spec does not ask for a finished run's result (reuse: false)"
    if run.reuse is not Reuse.CHECKED:
        return "the service has not looked for a finished run yet"
    if run.reuse_key is None:
        return "carried out: the service cannot read all its inputs, so it does not know whether they changed"
    if nearest is None:
        return "carried out: there is no finished run of this kind to compare with"
    if nearest.key == run.reuse_key:
        return (
            f"carried out: run {nearest.id} computes the same, but was not done then, lacks outputs, or force was set"
        )
    if nearest.spec or nearest.inputs or (code and code.total):
        return miss_sentence(nearest.id, nearest.spec, code, list(nearest.inputs))
    what = "the engine's code" if run.spec.get("kind") == "engine" else "the code"
    return f"carried out: {what} differs from that of run {nearest.id}"


def _code(request: Request, run: Run, nearest: Compared) -> SnapshotDifferences | None:
    """Return the files of the run's code that differ from those of the finished run; None without any."""
    if run.code is None or nearest.code is None or run.code == nearest.code:
        return None
    store = BlobStore(request.app.state.settings.snapshots_folder())
    try:
        return compare_trees(store, store.read_manifest(nearest.code), store.read_manifest(run.code))
    except DamagedError:  # removed since; the hashes still say that the code differs
        return None


def _inputs(run: Run, nearest: Compared) -> Iterator[InputDifference]:
    paths = run.spec.get("inputs") or {}
    for name, (first, second) in nearest.inputs.items():
        yield InputDifference(name=name, path=paths.get(name), first=first, second=second)
