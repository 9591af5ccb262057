"""Retry: ended runs go on as the same runs, from their newest checkpoints."""

from typing import Annotated

from fastapi import APIRouter, Depends
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from api.database import Writing
from api.http.bodies import body_of, describe_body
from api.http.statuses import ACTION
from api.parameters import ExperimentId, RunId, UserName
from api.rows import found_run, see_experiment
from contract.api.lifecycle import RetryRequest, RetryResult, UnchangedRun
from contract.lifecycle.state import ENDED, State
from contract.lifecycle.step import StepGoesOn
from store.lifecycle.going_on import RetriedRuns, retry
from store.steps.transitions import wait_again
from store.tables.runs import Run

router = APIRouter()
# by the asked state: the reasons for which a step ended without runs
ENDED_WITHOUT_RUNS = {State.FAILED: ("not_resolved", "need_ended", "workflow_failed"), State.CANCELLED: ("stopped",)}
BODY = describe_body(RetryRequest, "Which ended runs are retried; without a body, all that can be.", required=False)
WhichStates = Annotated[RetryRequest, Depends(body_of(RetryRequest, what="the request", required=False))]


@router.post("/runs/{run_id:id}/retry", tags=["runs"], responses=ACTION, openapi_extra=BODY)
def retry_run(run_id: RunId, asked: WhichStates, db: Writing, user: UserName = None) -> RetryResult:
    """Queue a run that failed or was cancelled as its next attempt; another run stays as it is."""
    found_run(db, run_id)
    return _result(_retry(db, Run.id == run_id, asked, user))


@router.post("/experiments/{experiment_id:id}/retry", tags=["experiments"], responses=ACTION, openapi_extra=BODY)
def retry_experiment(
    experiment_id: ExperimentId, asked: WhichStates, db: Writing, user: UserName = None
) -> RetryResult:
    """Queue the runs that failed or were cancelled as their next attempts; other runs stay as they are."""
    see_experiment(db, experiment_id)
    states = _states(asked)
    kinds = {kind for state, own in ENDED_WITHOUT_RUNS.items() if state in states for kind in own}
    found = _retry(db, Run.experiment_id == experiment_id, asked, user)
    steps = wait_again(db, [experiment_id], kinds, StepGoesOn(by=user))
    return _result(found).model_copy(update={"steps": steps})


def _retry(db: Session, which: ColumnElement[bool], asked: RetryRequest, user: str | None) -> RetriedRuns:
    return retry(db, which, _states(asked), by=user, accept_new_data=asked.accept_new_data)


def _states(asked: RetryRequest) -> list[State]:
    return [State(name) for name in dict.fromkeys(asked.states)]


def _result(found: RetriedRuns) -> RetryResult:
    unchanged = [UnchangedRun(id=run_id, state=state, why=_why(state)) for run_id, state in found.unchanged]
    return RetryResult(queued=found.queued, waiting=found.waiting, unchanged=unchanged)


def _why(state: State) -> str:
    if state is State.DONE:
        return "the run is done"
    return f"the request is not for runs that are {state}" if state in ENDED else "the run has not ended"
