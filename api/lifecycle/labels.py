"""Labels: change names, notes, tags, owner, project and the archive."""

from typing import Annotated

from fastapi import APIRouter, Depends

from api import experiments
from api.database import Writing
from api.errors import Invalid
from api.http.bodies import body_of, describe_body
from api.http.statuses import ACTION
from api.parameters import ExperimentId, RunId
from api.rows import found_experiment, found_run
from contract.api.labels import ExperimentChange, RunChange, RunLabels
from contract.api.responses import ExperimentDetail
from contract.validation import ValidationIssue
from store.lifecycle import tags
from store.lifecycle.labels import SearchDecidesError, TooManyTagsError, change_experiment, change_run

router = APIRouter()


@router.patch(
    "/experiments/{experiment_id:id}",
    tags=["experiments"],
    responses=ACTION,
    openapi_extra=describe_body(ExperimentChange, "The changes, as JSON or YAML.", required=False),
)
def patch_experiment(
    experiment_id: ExperimentId,
    change: Annotated[ExperimentChange, Depends(body_of(ExperimentChange, what="the change", required=False))],
    db: Writing,
) -> ExperimentDetail:
    """Change the labels or the objective of an experiment; its spec stays as it was submitted."""
    try:
        change_experiment(db, experiment_id, change)
    except TooManyTagsError as error:
        raise _refusal(error) from error
    except SearchDecidesError as error:
        raise Invalid("the change is not valid", [ValidationIssue(path="objective", message=str(error))]) from error
    return experiments.detail_of(db, found_experiment(db, experiment_id))


@router.patch(
    "/runs/{run_id:id}",
    tags=["runs"],
    responses=ACTION,
    openapi_extra=describe_body(RunChange, "The changes, as JSON or YAML.", required=False),
)
def patch_run(
    run_id: RunId,
    change: Annotated[RunChange, Depends(body_of(RunChange, what="the change", required=False))],
    db: Writing,
) -> RunLabels:
    """Change the labels of a run."""
    try:
        change_run(db, run_id, change)
    except TooManyTagsError as error:
        raise _refusal(error) from error
    run = found_run(db, run_id)
    tagged = tags.of_runs(db, [run_id]).get(run_id, [])
    return RunLabels(id=run_id, notes=run.notes, tags=tagged, archived_at=run.archived_at, left_out=run.left_out)


def _refusal(error: TooManyTagsError) -> Invalid:
    return Invalid("the change is not valid", [ValidationIssue(path="add_tags", message=str(error))])
