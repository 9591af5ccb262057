"""Requests on searches: pause, resume, extend. The scheduler carries them out."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import ValidationError
from sqlalchemy.orm import Session

from api.database import Writing
from api.errors import Conflict, Invalid, NotFound
from api.http.bodies import body_of, describe_body
from api.http.statuses import ACTION, CHANGE
from api.parameters import ExperimentId
from api.rows import see_experiment
from api.search import status_of
from contract.api.search import SearchChanged, SearchExtension
from contract.spec.grid.grid import MAX_POINTS
from contract.spec.search.search import SearchSpec
from contract.validation import ValidationIssue, issues_of
from store.search import searches
from store.tables.searches import Search

router = APIRouter(prefix="/experiments/{experiment_id:id}/search", tags=["searches"])


@router.post("/pause", responses=ACTION)
def pause_search(experiment_id: ExperimentId, db: Writing) -> SearchChanged:
    """Pause a search: no new trials, and its runs stop with a checkpoint. One that is paused or ended stays so."""
    search = _locked(db, experiment_id)
    return _changed(search, searches.pause(search))


@router.post("/resume", responses=ACTION)
def resume_search(experiment_id: ExperimentId, db: Writing) -> SearchChanged:
    """Let a search go on that was paused or stopped; its stopped runs go on from their checkpoints after a pause."""
    search = _locked(db, experiment_id)
    return _changed(search, searches.resume(search))


@router.post(
    "/extend", responses=CHANGE, openapi_extra=describe_body(SearchExtension, "The new number of trials and budget.")
)
def extend_search(
    experiment_id: ExperimentId,
    asked: Annotated[SearchExtension, Depends(body_of(SearchExtension, what="the request"))],
    db: Writing,
) -> SearchChanged:
    """Give a search more trials or a larger budget; one that has ended goes on."""
    search = _locked(db, experiment_id)
    before = SearchSpec.model_validate(search.spec)
    if issues := _issues(search, before, asked):
        raise Invalid("the search cannot be extended", issues)
    change = {"trials": max(asked.trials or 0, search.trials)}
    budget = {"budget": {"rank_hours": asked.rank_hours}} if asked.rank_hours else {}
    try:
        longer = SearchSpec.model_validate({**search.spec, **change, **budget})
    except ValidationError as error:  # the stored search is valid, so only the new fields can be wrong
        raise Invalid("the search cannot be extended", issues_of(error)) from error
    has_changed = longer.size > search.trials or longer.budget != before.budget
    if has_changed:
        searches.extend(db, search, longer)
    return _changed(search, has_changed)


def _issues(search: Search, spec: SearchSpec, asked: SearchExtension) -> list[ValidationIssue]:
    issues = []
    if asked.trials is not None:
        available, runs = spec.available, asked.trials * spec.runs_per_trial
        if asked.trials < search.trials:
            message = f"the search has {search.trials:,} trials, more than {asked.trials:,}"
            issues.append(ValidationIssue(path="trials", message=message))
        elif available is not None and asked.trials > available:
            message = f"{asked.trials:,} trials are more than the {available:,} points that there are"
            issues.append(ValidationIssue(path="trials", message=message))
        elif runs > MAX_POINTS:
            message = f"the experiment would have {runs:,} runs, more than the limit of {MAX_POINTS:,}"
            issues.append(ValidationIssue(path="trials", message=message))
    if asked.rank_hours is not None:
        if spec.budget is None:
            issues.append(ValidationIssue(path="rank_hours", message="the search has no budget, so nothing limits it"))
        elif asked.rank_hours < spec.budget.rank_hours:
            message = f"the budget is {spec.budget.rank_hours:g} rank-hours, more than {asked.rank_hours:g}"
            issues.append(ValidationIssue(path="rank_hours", message=message))
    return issues


def _locked(db: Session, experiment_id: int) -> Search:
    """Lock the search of an experiment; raise NotFound or Conflict."""
    see_experiment(db, experiment_id)
    found = searches.of_experiment(db, experiment_id)
    if found is None:
        raise NotFound(f"experiment {experiment_id} has no search: its runs are the points of its axes")
    search = searches.lock(db, found.id)
    if search is None:
        raise Conflict(f"experiment {experiment_id} has changed meanwhile: send the request again")
    return search


def _changed(search: Search, has_changed: bool) -> SearchChanged:
    return SearchChanged(
        experiment_id=search.experiment_id, status=status_of(search), wanted=search.trials, changed=has_changed
    )
