"""GET /experiments/{experiment_id}/answer: the figure of an experiment over its axes, and one sentence of result."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.database import Reading
from api.errors import Invalid
from api.http.statuses import ITEM
from api.parameters import MAX_INTEGER, NO_NUL, ExperimentId
from api.render import run_page
from api.rows import found_experiment
from contract.api.answer import Answer
from contract.api.responses import RunView
from contract.spec.any_run import read_run
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import MAX_POINTS
from contract.validation import ValidationIssue
from store.lists.order import ListOrder
from store.lists.run_list import page
from store.metrics import curves
from store.tables import Run
from study.answer.answer import Choice, find_answer
from study.answer.measures import NEWEST_STEPS, OF_EVALUATIONS, OF_STEPS, Measures, measure

router = APIRouter(prefix="/experiments", tags=["experiments"])
MAX_MEASURED = 100  # runs whose curves are read: more would take seconds
MAX_POINTS_READ = 100_000  # of one series
Columns = dict[str, list[tuple[int, float | None]]]


@router.get("/{experiment_id}/answer", responses=ITEM)
def get_answer(
    experiment_id: ExperimentId,
    db: Reading,
    figure: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=200,
            pattern=NO_NUL,
            description="Name of the figure to draw, one of `figures` of the answer; without it the one that the axes "
            "ask for.",
            examples=["best_accuracy"],
        ),
    ] = None,
    target: Annotated[
        float | None,
        Query(
            gt=0,
            le=1,
            description="Accuracy to which times are compared; without it the highest that all runs reached.",
            examples=[0.97],
        ),
    ] = None,
    baseline: Annotated[
        int | None,
        Query(ge=0, le=MAX_INTEGER, description="Index of the group to compare with; default: 0.", examples=[0]),
    ] = None,
) -> Answer:
    """Return the figure of the experiment over its axes, times to one accuracy, and a sentence of result.

    Times and speed-ups are those of the first 100 runs; diverged runs count in no mean.
    """
    spec = ExperimentSpec.from_stored(found_experiment(db, experiment_id).spec)
    which = (Run.experiment_id == experiment_id, Run.deleted_at.is_(None))
    rows, _ = page(db, *which, order=ListOrder([], [Run.number.asc()]), limit=MAX_POINTS)
    runs = run_page(rows, {}, None).items
    measures = read_measures(db, [run for run in runs if run.started_at][:MAX_MEASURED])
    try:
        answer = find_answer(spec, runs, measures, Choice(figure, target, baseline))
    except ValueError as error:
        raise Invalid("the request is not valid", [ValidationIssue(path="query", message=str(error))]) from error
    if len(runs) > MAX_MEASURED:
        answer.notes.append(f"times are those of the first {MAX_MEASURED} runs that started, of {len(runs):,}")
    return answer


def read_measures(db: Session, runs: Sequence[RunView]) -> dict[int, Measures]:
    """Return the measures of the runs, from the newest steps of their time split and from all evaluations."""
    ids = [run.id for run in runs]
    if not ids:
        return {}
    specs = {row.id: row.spec for row in db.execute(select(Run.id, Run.spec).where(Run.id.in_(ids)))}
    newest = {run.id: max(-1, run.step - NEWEST_STEPS) for run in runs}
    columns: dict[int, Columns] = {run_id: {} for run_id in ids}
    for names, after in ((OF_STEPS, newest), (OF_EVALUATIONS, {})):
        for name in names:
            _read_series(db, ids, name, after, columns)
    # a spec of an earlier version may lack fields, which reading it again fills in
    return {run_id: measure(read_run(specs[run_id]), columns[run_id]) for run_id in ids}


def _read_series(
    db: Session, ids: Sequence[int], name: str, after: Mapping[int, int], into: Mapping[int, Columns]
) -> None:
    found, _ = curves.of_experiment(db, ids, name, after=after, limit=MAX_POINTS_READ)
    for run_id, (steps, values) in found.items():
        into[run_id][name] = list(zip(steps, values, strict=True))
