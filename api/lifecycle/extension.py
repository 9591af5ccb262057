"""Extension: further points of an experiment, and further epochs of a run that is done."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from api.http.bodies import body_of, describe_body
from api.http.statuses import CHANGE
from api.orders import folders_of, granted
from api.parameters import ExperimentId, Force, RunId, UserName
from contract.api.lifecycle import ExtensionRequest, PointsAdded, PointsRequest, RunExtended
from orders import addition, extension

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
    added = granted(addition.add_points(engine, folders_of(request), experiment_id, asked, force=force))
    return PointsAdded(id=experiment_id, runs=added.run_ids, existing=added.existing)


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
    run = granted(extension.extend(engine, folders_of(request), run_id, asked.epochs, by=user))
    return RunExtended(id=run_id, epochs=run.epochs, steps=run.steps, from_step=run.from_step, state=run.state)
