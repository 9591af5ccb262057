"""Experiments: create, list, details, stop, and curves of their runs."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from api.database import Reading, Writing
from api.errors import Conflict
from api.http.bodies import describe_body, document_of
from api.http.statuses import ACTION, CREATION, ITEM, LIST
from api.orders import error_of, folders_of, granted
from api.parameters import (
    MAX_CURVES,
    AfterNumber,
    Cursor,
    DryRun,
    ExperimentFilter,
    ExperimentId,
    ExperimentOrder,
    Force,
    FromStep,
    IdempotencyKey,
    JointState,
    Limit,
    MetricColumns,
    NamePart,
    Origin,
    PointLimit,
    RunCursor,
    RunState,
    SeriesName,
    Since,
    StepNameFilter,
    UserName,
    list_order,
    steps_of,
)
from api.render import experiment_detail, experiment_draft, experiment_view, run_page
from api.rows import found_experiment, found_step, see_experiment
from contract.api.checkpoint_advice import Advice, advise_interval
from contract.api.curves import ExperimentPoints, RunCurve
from contract.api.drafts import ExperimentDraft
from contract.api.list_sort import ExperimentSort
from contract.api.responses import (
    Created,
    ExperimentDetail,
    ExperimentView,
    Page,
    RunView,
    Stopped,
)
from contract.lifecycle.step import StepStopped
from contract.spec.checkpoint import Checkpoint
from contract.spec.expanded import Expanded
from contract.spec.experiment import ExperimentSpec
from orders import acceptance
from store import experiments, runs
from store.lifecycle import tags
from store.lists.order import ListOrder, created_since
from store.lists.run_list import page
from store.metrics import curves as stored_curves
from store.metrics import interruptions, newest
from store.metrics.objectives import values_of
from store.search import searches
from store.steps.transitions import stop_waiting
from store.tables.experiments import Experiment
from store.tables.runs import Run

router = APIRouter(prefix="/experiments", tags=["experiments"])
CARRIED_OUT = "a request with this Idempotency-Key is being carried out: send it again"
CHANGED = "what the experiment names has changed meanwhile: send the request again"
BODY = describe_body(ExperimentSpec, "The experiment, as JSON or YAML.")


def _checked(request: Request, force: Force = False) -> Expanded:
    # before the request's transaction: it reads snapshots, run folders and programs
    document = document_of(request, what="the experiment")
    return granted(acceptance.check(request.app.state.engine, document, folders_of(request), force=force))


@router.post(
    "",
    status_code=201,
    response_model=Created,
    openapi_extra=BODY,
    responses={**CREATION, 200: {"model": ExperimentDraft}},
)
def create_experiment(
    new: Annotated[Expanded, Depends(_checked)],
    db: Writing,
    idempotency_key: IdempotencyKey = None,
    user: UserName = None,
    *,
    origin: Origin = None,
    force: Force = False,
    from_step: FromStep = None,
    dry_run: DryRun = False,
) -> Created | JSONResponse:
    """Store an experiment and queue one run per point of its grid; a repeated key is carried out once."""
    asked = acceptance.Request(idempotency_key, user or "", origin, force, from_step)
    if dry_run:
        if refused := acceptance.find_refusal(db, new, asked):
            raise error_of(refused)
        return JSONResponse(experiment_draft(new).model_dump(mode="json"))
    try:
        accepted = granted(acceptance.store(db, new, asked))
    except IntegrityError as error:
        raise Conflict(CARRIED_OUT if idempotency_key else CHANGED) from error
    return Created(id=accepted.experiment_id, runs=accepted.run_ids, warnings=accepted.warnings)


@router.get("", responses=LIST)
def list_experiments(
    db: Reading,
    labels: ExperimentFilter,
    before: Cursor = None,
    name: NamePart = None,
    state: JointState = None,
    since: Since = None,
    sort: ExperimentOrder = ExperimentSort.NEWEST,
    limit: Limit = 50,
) -> Page[ExperimentView]:
    """Return experiments, newest first; `before=next` gives the next page."""
    which = [*labels, *([] if since is None else created_since(Experiment, since))]
    which += [] if name is None else [experiments.has_in_name(name)]
    which += [] if state is None else [experiments.has_joint_state(state)]
    rows = experiments.page(db, *which, order=list_order(db, Experiment, sort, before), limit=limit)
    shown = rows[:limit]
    ids = [row.id for row in shown]
    summaries, tagged = experiments.summaries(db, ids), tags.of_experiments(db, ids)
    items = [experiment_view(row, summaries[row.id], tagged.get(row.id, [])) for row in shown]
    return Page(items=items, next=shown[-1].id if len(rows) > limit else None)


@router.get("/{experiment_id:id}", responses=ITEM)
def get_experiment(experiment_id: ExperimentId, db: Reading) -> ExperimentDetail:
    """Return one experiment with its spec."""
    return detail_of(db, found_experiment(db, experiment_id))


def detail_of(db: Session, experiment: Experiment) -> ExperimentDetail:
    """Return the view of one experiment."""
    tagged = tags.of_experiments(db, [experiment.id]).get(experiment.id, [])
    return experiment_detail(experiment, experiments.summaries(db, [experiment.id])[experiment.id], tagged)


@router.get("/{experiment_id:id}/runs", responses=ITEM)
def list_experiment_runs(
    experiment_id: ExperimentId,
    db: Reading,
    after: AfterNumber = -1,
    state: RunState = None,
    step: StepNameFilter = None,
    metric: MetricColumns = (),
    limit: Limit = 200,
) -> Page[RunView]:
    """Return the runs in the order of the experiment's grid; `after=next` gives the next page."""
    see_experiment(db, experiment_id)
    which = [Run.experiment_id == experiment_id, Run.deleted_at.is_(None), Run.number > after]
    which += [] if state is None else [Run.state == state]
    which += [] if step is None else [Run.step_id == found_step(db, experiment_id, step)]
    shown, more = page(db, *which, order=ListOrder([], [Run.number.asc()]), limit=limit)
    found = newest.listed(db, {run.id: run.latest for run in shown}, metric)
    values = values_of(db, {run.id: (run.experiment_id, run.objective_value) for run in shown})
    tagged = tags.of_runs(db, [run.id for run in shown])
    return run_page(shown, tagged, shown[-1].number if more else None, values, found)


@router.get("/{experiment_id:id}/points", responses=ITEM)
def get_experiment_points(
    experiment_id: ExperimentId,
    db: Reading,
    name: SeriesName = "loss",
    after: Annotated[
        Sequence[RunCursor],
        Query(
            max_length=MAX_CURVES,
            description="RUN:STEP for each run (its id) of which the caller has the points up to this step; "
            "only later points of it are returned.",
        ),
    ] = (),
    limit: PointLimit = 200_000,
) -> ExperimentPoints:
    """Return one series of the experiment's first 200 runs; with `after`, only newer points."""
    see_experiment(db, experiment_id)
    mine = (Run.experiment_id == experiment_id, Run.deleted_at.is_(None))
    query = select(Run.id).where(*mine).order_by(Run.number).limit(MAX_CURVES)
    found, more = stored_curves.of_experiment(db, db.scalars(query).all(), name, after=steps_of(after), limit=limit)
    curves = [RunCurve(run_id=run_id, steps=steps, values=values) for run_id, (steps, values) in found.items()]
    return ExperimentPoints(name=name, curves=curves, more=more)


@router.get("/{experiment_id:id}/checkpoints", responses=ITEM)
def get_checkpoint_advice(experiment_id: ExperimentId, db: Reading) -> list[Advice]:
    """Return interruptions, checkpoint costs and the best checkpoint interval, for each number of ranks."""
    base = found_experiment(db, experiment_id).spec.get("base") or {"kind": "steps"}
    # a program has intervals of its own, which are not known, and so has each step of a workflow
    is_engine = base.get("kind", "engine") == "engine"
    every = Checkpoint.model_validate(base.get("checkpoint", {})).every_minutes if is_engine else None
    return [
        advise_interval(one)
        for one in interruptions.observed(db, experiment_id, interval_s=60 * every if every else None)
    ]


@router.post("/{experiment_id:id}/stop", responses=ACTION)
def stop_experiment(experiment_id: ExperimentId, db: Writing) -> Stopped:
    """Request that every run of the experiment stops, and that its search ends; steps that wait are cancelled."""
    see_experiment(db, experiment_id)
    searches.request_stop(db, experiment_id)
    # first: a step that is getting its runs holds its lock, and then the runs are seen
    steps = stop_waiting(db, experiment_id, StepStopped())
    return Stopped(stopping=runs.request_stop(db, Run.experiment_id == experiment_id), steps=steps)
