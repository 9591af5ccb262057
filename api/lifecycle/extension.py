"""Extension: further points of an experiment, and further epochs of a run that is done."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from api.code.references import refuse_absent_code
from api.errors import Conflict, Invalid
from api.http.bodies import body_of, describe_body
from api.http.statuses import CHANGE
from api.lifecycle.initial_weights import with_initial_weights
from api.lifecycle.new_points import extra_points, grown_grid
from api.lifecycle.submission import refuse_impossible
from api.parameters import ExperimentId, Force, RunId, UserName
from api.rows import found_experiment, found_run
from contract.api.lifecycle import ExtensionRequest, PointsAdded, PointsRequest, RunExtended
from contract.folder.run_folder import RunFolder
from contract.folder.stored_checkpoints import StoredCheckpoint, newest_checkpoint
from contract.lifecycle.state import State
from contract.spec.checks.extension import check_extension
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import MAX_POINTS
from contract.spec.recorded.stored_run import is_recorded, read_stored_run
from contract.spec.run import RunSpec
from contract.validation import ValidationIssue
from store.lifecycle import added_points, going_on
from store.lifecycle.added_points import NewPoints
from store.locks import lock_runs
from store.session import snapshot, transaction
from store.tables import Run

router = APIRouter()


@router.post(
    "/experiments/{experiment_id:id}/points",
    tags=["experiments"],
    responses=CHANGE,
    openapi_extra=describe_body(PointsRequest, "The points, as JSON or YAML."),
)
def add_points(
    experiment_id: ExperimentId,
    asked: Annotated[PointsRequest, Depends(body_of(PointsRequest, what="the request"))],
    request: Request,
    *,
    force: Force = False,
) -> PointsAdded:
    """Queue runs for further points of an experiment; a point that it has already is not repeated."""
    engine = request.app.state.engine
    with snapshot(engine) as db:
        read = found_experiment(db, experiment_id).spec
        like = [] if asked.like is None else found_experiment(db, asked.like).added_points or []
    if read.get("base") is None:
        raise Conflict(
            f"experiment {experiment_id} has steps, whose grids are those of its spec: clone it with other axes"
        )
    if is_recorded(read["base"]):
        raise Conflict(f"the runs of experiment {experiment_id} were carried out elsewhere: it has no points to start")
    if read.get("search"):
        raise Conflict(
            f"the sampler of experiment {experiment_id} chooses its points: POST .../search/extend adds trials"
        )
    # ten thousand points take a second, and no other request waits for them
    grid, extra = grown_grid(read, asked.axes), extra_points(read, [*asked.points, *like])
    spec = grid or ExperimentSpec.from_stored(read)
    points = [] if grid is None else grid.points()
    asked_for = with_initial_weights(request, spec.with_points([*points, *extra])).points()
    refuse_absent_code(request, spec.with_points(asked_for))
    with transaction(engine) as db:
        experiment = added_points.lock(db, experiment_id)
        if experiment is None or experiment.spec != read:
            raise Conflict(f"experiment {experiment_id} has changed meanwhile: send the request again")
        new = added_points.new_points(db, experiment_id, asked_for[: len(points)], asked_for[len(points) :])
        _check_number(new)
        refuse_impossible(db, spec.with_points([*new.grid, *new.extra]), force=force)
        run_ids = added_points.add(db, experiment, grid, new)
    return PointsAdded(id=experiment_id, runs=run_ids, existing=new.existing)


def _check_number(new: NewPoints) -> None:
    if new.total > MAX_POINTS:
        message = f"the experiment would have {new.total:,} runs, more than the limit of {MAX_POINTS:,}"
        raise Invalid("the points are not valid", [ValidationIssue(path="points", message=message)])


@router.post(
    "/runs/{run_id:id}/extend",
    tags=["runs"],
    responses=CHANGE,
    openapi_extra=describe_body(ExtensionRequest, "The new total number of epochs."),
)
def extend_run(
    run_id: RunId,
    asked: Annotated[ExtensionRequest, Depends(body_of(ExtensionRequest, what="the request"))],
    request: Request,
    user: UserName = None,
) -> RunExtended:
    """Queue a run that is done, to go on from its newest checkpoint to more epochs."""
    engine = request.app.state.engine
    with snapshot(engine) as db:
        run = found_run(db, run_id)
    spec = read_stored_run(run.spec)
    if not isinstance(spec, RunSpec):
        message = "only a run of the engine has epochs of which the service knows: clone the run with other parameters"
        raise Invalid("the run cannot be extended", [ValidationIssue(path="epochs", message=message)])
    if asked.epochs == spec.epochs:
        return RunExtended(id=run_id, epochs=spec.epochs, steps=run.steps, from_step=None, state=run.state)
    longer = _longer(run, spec, asked.epochs)
    # the file system may be slow, and no transaction waits for it
    checkpoint = _checkpoint(request, run)
    with transaction(engine) as db:
        if not lock_runs(db, Run.id == run_id, Run.state == State.DONE, Run.deleted_at.is_(None)):
            raise Conflict(f"run {run_id} has changed meanwhile: send the request again")
        going_on.extend(db, found_run(db, run_id), longer, by=user)
    return RunExtended(
        id=run_id, epochs=longer.epochs, steps=longer.steps, from_step=checkpoint.step, state=State.QUEUED
    )


def _longer(run: Run, spec: RunSpec, epochs: int) -> RunSpec:
    """Return the spec with more epochs; raise Conflict or Invalid if the run cannot go on."""
    if run.state is not State.DONE:
        raise Conflict(f"run {run.id} is {run.state}, and only a run that is done can be extended")
    issues = list(check_extension(spec, epochs))
    if "epochs" in run.values:
        message = "the number of epochs is an axis of the experiment: add a point with another number"
        issues.append(ValidationIssue(path="epochs", message=message))
    if issues:
        raise Invalid("the run cannot be extended", issues)
    return RunSpec.model_validate({**run.spec, "epochs": epochs})


def _checkpoint(request: Request, run: Run) -> StoredCheckpoint:
    folder = RunFolder.of(request.app.state.settings.runs_folder(), run.id, run.key)
    if (found := newest_checkpoint(folder.path)) is None:
        message = "the run has no checkpoint from which it could go on: checkpoint.at_end saves one after the last step"
        raise Invalid("the run cannot be extended", [ValidationIssue(path="checkpoint.at_end", message=message)])
    return found
