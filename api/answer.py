"""GET /experiments/{experiment_id}/answer: the figure of an experiment over its axes, and one sentence of result."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.database import Reading
from api.errors import Invalid
from api.http.statuses import ITEM
from api.parameters import MAX_INTEGER, NO_NUL, ExperimentId, StepNameFilter
from api.points.shared_answers import SharedAnswers
from api.render import run_page, spec_of
from api.rows import found_experiment, found_step, see_experiment
from contract.api.answer import Answer
from contract.api.responses import RunView
from contract.metric_names import SAMPLES_PER_S, TIME_PARTS
from contract.objective import StoredObjective, chosen
from contract.spec.any_run import read_run
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import MAX_POINTS
from contract.spec.recorded.run import RecordedExperiment
from contract.validation import ValidationIssue
from store import changes
from store.lists.order import ListOrder
from store.lists.run_list import page
from store.metrics import curves
from store.metrics.figures import read_best, read_means
from store.metrics.objectives import read_objective
from store.steps.progress import of_experiment
from store.tables.runs import Run
from study.answer.answer import BestValues, Choice, find_answer
from study.answer.measures import OF_EVALUATIONS, Measures, measure

router = APIRouter(prefix="/experiments", tags=["experiments"])
MAX_MEASURED = 100  # runs whose curves are read: more would take seconds
MAX_POINTS_READ = 100_000  # of one series
Columns = dict[str, list[tuple[int, float | None]]]
FigureName = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        pattern=NO_NUL,
        description="Name of the figure to draw, one of `figures` of the answer; without it the one that the axes "
        "ask for.",
        examples=["best(heldout_accuracy)"],
    ),
]
TargetAccuracy = Annotated[
    float | None,
    Query(
        gt=0,
        le=1,
        description="Accuracy to which times are compared; without it the highest that all runs reached.",
        examples=[0.97],
    ),
]
Baseline = Annotated[
    int | None,
    Query(ge=0, le=MAX_INTEGER, description="Index of the group to compare with; default: 0.", examples=[0]),
]


@router.get("/{experiment_id:id}/answer", responses=ITEM, response_model=Answer)
def get_answer(
    experiment_id: ExperimentId,
    db: Reading,
    request: Request,
    figure: FigureName = None,
    target: TargetAccuracy = None,
    baseline: Baseline = None,
    step: StepNameFilter = None,
) -> Response:
    """Return the figure of the experiment over its axes, times to one accuracy, and a sentence of result.

    Times and speed-ups are those of the first 100 runs; diverged runs count in no mean. Of a workflow it is the answer
    of one step: of `step`, or of the step with the most runs.
    """
    see_experiment(db, experiment_id)

    def make() -> str:
        return _answer(db, experiment_id, Choice(figure, target, baseline), step).model_dump_json()

    # an experiment of 10,000 runs takes half a second, and nothing of it changes once all runs have ended
    shared: SharedAnswers = request.app.state.shared_answers
    text = shared.get((changes.state_of(db, experiment_id), request.url.path, request.url.query), make)
    return Response(text, media_type="application/json")


def _answer(db: Session, experiment_id: int, choice: Choice, step: str | None) -> Answer:
    spec, step_id, objective = _asked(db, experiment_id, step)
    which = [Run.experiment_id == experiment_id, Run.deleted_at.is_(None)]
    which += [] if step_id is None else [Run.step_id == step_id]
    rows, _ = page(db, *which, order=ListOrder([], [Run.number.asc()]), limit=MAX_POINTS)
    runs = run_page(rows, {}, None, {run.id: run.objective_value for run in rows}).items
    measures = {} if isinstance(spec, RecordedExperiment) else read_measures(db, runs)
    try:
        answer = find_answer(spec, runs, measures, choice, _speeds(db, runs), _best_values(db, runs), objective)
    except ValueError as error:
        raise Invalid("the request is not valid", [ValidationIssue(path="query", message=str(error))]) from error
    if len(runs) > MAX_MEASURED:
        answer.notes.append(f"times are those of the first {MAX_MEASURED} runs that started, of {len(runs):,}")
    return answer


def _asked(
    db: Session, experiment_id: int, name: str | None
) -> tuple[ExperimentSpec | RecordedExperiment, int | None, StoredObjective | None]:
    """Return a spec, the id of the step, and the objective: of an experiment, or of one step of a workflow."""
    spec = spec_of(found_experiment(db, experiment_id))
    objective = read_objective(db, experiment_id)
    if isinstance(spec, RecordedExperiment) or not spec.is_workflow:
        return spec, None if name is None else found_step(db, experiment_id, name), objective
    if name is None:
        steps = of_experiment(db, experiment_id)
        name = max(steps, key=lambda step: (sum(step.runs.values()), step.position)).name
    of_step, step_id = spec.of_step(name), found_step(db, experiment_id, name)
    return of_step, step_id, chosen(of_step.objective) if of_step.objective else objective


def _speeds(db: Session, runs: Sequence[RunView]) -> dict[int, float]:
    """Return the mean samples per second of the steps of all runs: one statement, which reads no curves."""
    means = read_means(db, [run.id for run in runs], [SAMPLES_PER_S])
    return {run_id: mean[SAMPLES_PER_S] for run_id, mean in means.items()}


def _best_values(db: Session, runs: Sequence[RunView]) -> BestValues:
    """Return what reads the best values of a metric of all runs: one statement, which reads no curves."""
    ids = [run.id for run in runs]
    return lambda name, is_highest: read_best(db, ids, name, is_highest=is_highest)


def read_measures(db: Session, runs: Sequence[RunView]) -> dict[int, Measures]:
    """Return the measures of the first runs that started, from the means of their steps and from their evaluations."""
    runs = [run for run in runs if run.started_at][:MAX_MEASURED]
    ids = [run.id for run in runs]
    if not ids:
        return {}
    specs = {row.id: row.spec for row in db.execute(select(Run.id, Run.spec).where(Run.id.in_(ids)))}
    means = read_means(db, ids, TIME_PARTS)
    columns: dict[int, Columns] = {run_id: {name: [] for name in OF_EVALUATIONS} for run_id in ids}
    for name in OF_EVALUATIONS:
        _read_series(db, ids, name, columns)
    # a spec of an earlier version may lack fields, which reading it again fills in
    return {run_id: measure(read_run(specs[run_id]), means.get(run_id, {}), columns[run_id]) for run_id in ids}


def _read_series(db: Session, ids: Sequence[int], name: str, into: Mapping[int, Columns]) -> None:
    found, _ = curves.of_experiment(db, ids, name, after={}, limit=MAX_POINTS_READ)
    for run_id, (steps, values) in found.items():
        into[run_id][name] = list(zip(steps, values, strict=True))
