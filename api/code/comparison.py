"""How chosen runs of any experiments differ: specs, code, environments; and which metrics they have."""

from collections.abc import Sequence

from fastapi import APIRouter, Request
from sqlalchemy import Engine, select

from api.code.reproduction import MAX_VALUES, comparable, find_environment
from api.errors import NotFound
from api.http.statuses import ITEM
from api.parameters import RunIds
from contract.api.reproduction import ComparedField, ComparedMetric, RunComparison
from contract.metric_direction import is_better_when_higher
from contract.metric_names import by_importance
from store.run_table.differences import Choices, different_fields, fields_of_runs, metrics_of_runs
from store.run_table.leaves import Leaf, Leaves, leaves
from store.session import snapshot
from store.tables.runs import Run

router = APIRouter(prefix="/runs", tags=["runs"])
MAX_ENVIRONMENTS = 50  # each is a file
CODE = "code"


@router.get("/comparison", responses=ITEM)
def get_run_comparison(request: Request, run: RunIds) -> RunComparison:
    """Return what differs between chosen runs of any experiments, and the metrics that they have."""
    engine: Engine = request.app.state.engine
    with snapshot(engine) as db:
        found = {one.id: one for one in db.scalars(select(Run).where(Run.id.in_(run), Run.deleted_at.is_(None)))}
        runs = [found[run_id] for run_id in dict.fromkeys(run) if run_id in found]
        if not runs:
            raise NotFound("there is none of these runs")
        specs, metrics = fields_of_runs(db, runs), metrics_of_runs(db, [one.id for one in runs])
    environment, note = _environments(request, runs)  # after the transaction, because it reads files
    code = different_fields([{CODE: Leaf(None, one.code)} if one.code else {} for one in runs])
    return RunComparison(
        runs=[one.id for one in runs],
        spec=[_field(one) for one in different_fields(specs) if one.path != CODE],
        code=_field(code[0]) if code else None,
        environment=[_field(one) for one in environment],
        environment_note=note,
        metrics=[
            ComparedMetric(name=name, runs=metrics[name], is_better_when_higher=is_better_when_higher(name))
            for name in by_importance(metrics)
        ],
    )


def _environments(request: Request, runs: Sequence[Run]) -> tuple[list[Choices], str | None]:
    """Return what differs between the environments that have a record, and which have none."""
    if len(runs) > MAX_ENVIRONMENTS:
        return [], f"environments are compared for at most {MAX_ENVIRONMENTS} runs"
    found: list[Leaves | None] = []
    for run in runs:
        record = find_environment(request, run)
        found.append(None if record is None else leaves(comparable(record)))
    absent = found.count(None)
    if absent == len(runs):
        return [], "no run has a record of its environment"
    note = f"{absent} of {len(runs)} runs have no record of their environment" if absent else None
    return different_fields(found)[:MAX_VALUES], note


def _field(found: Choices) -> ComparedField:
    return ComparedField(path=found.path, choices=found.values, places=found.places)
