"""A decision on a search carried out: all of it in one transaction, on the version from which it was made."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from contract.lifecycle.reason import StopSource
from contract.lifecycle.state import State
from contract.lifecycle.trial import TrialStatus
from contract.spec.any_run import AnyRun
from contract.spec.grid.grid import Values
from contract.spec.grid.step_grid import read_new_run, with_values
from contract.spec.search.checks import repeat_start
from contract.spec.search.samplers import PopulationSampler
from contract.spec.search.search import SearchSpec
from contract.validation import ValidationIssue
from scheduler.search.decide import Decision
from scheduler.search.read import StoredSearch
from scheduler.search.weights import Weights
from store import runs
from store.lifecycle import going_on
from store.lifecycle.new_runs import insert_runs
from store.search import searches
from store.tables.base import now
from store.tables.runs import Run
from store.tables.searches import Search, Trial
from study.search.trials import Asked

SEARCH = "the search"  # asks a run to go on


class NewTrial(NamedTuple):
    """A trial that the sampler asked for, with its runs; with a message none: its values make no valid run."""

    asked: Asked
    bracket: int
    runs: list[tuple[Values, AnyRun]]
    message: str | None


def new_trials(stored: StoredSearch, asked: Sequence[Asked], weights: Mapping[int, Weights]) -> list[NewTrial]:
    """Return the trials with their runs; `weights`: with which some of them begin."""
    brackets, spec, base = len(stored.view.rungs), stored.view.spec, stored.row.base
    if isinstance(spec.sampler, PopulationSampler):
        return [NewTrial(one, 0, *_generation_of(base, one, weights.get(one.number))) for one in asked]
    return [NewTrial(one, one.number % brackets, *_runs_of(spec, base, one.params)) for one in asked]


def _generation_of(
    base: dict[str, Any], asked: Asked, weights: Weights | None
) -> tuple[list[tuple[Values, AnyRun]], str | None]:
    """Return the run of a member's generation, or why it can have none. Each has data in an order of its own."""
    if isinstance(weights, str):
        return [], weights
    further: Values = {"seed": base.get("seed", 0) + asked.number}
    shown = dict(asked.params)
    if weights is not None:
        further["initial_weights"] = weights
        shown["initial_weights.run"] = weights["run"]
    run, issues = read_new_run(with_values(base, {**asked.params, **further}))
    return ([(shown, run)], None) if run is not None else ([], _text(issues))


def _runs_of(spec: SearchSpec, base: dict[str, Any], params: Values) -> tuple[list[tuple[Values, AnyRun]], str | None]:
    """Return the runs of a trial, or why it can have none."""
    run, issues = read_new_run(with_values(base, params))
    if run is None:
        return [], _text(issues)
    if spec.repeats is None:
        return [(params, run)], None
    path = spec.repeats.path
    start = repeat_start(run, path) or 0
    points = []
    for number in range(start, start + spec.repeats.times):
        values = {**params, path: number}
        repeat, issues = read_new_run(with_values(base, values))
        if repeat is None:
            return [], _text(issues)
        points.append((values, repeat))
    return points, None


def _text(issues: Sequence[ValidationIssue]) -> str:
    return "; ".join(f"{issue.path}: {issue.message}" for issue in issues)[:1000]


def carry_out(db: Session, stored: StoredSearch, decision: Decision, new: Sequence[NewTrial]) -> bool:
    """Store a decision with the new trials; return False if the search has changed since it was read."""
    search = searches.lock(db, stored.id, stored.version)
    if search is None:
        return False
    by_number = {trial.number: trial for trial in stored.trials}
    for number, change in decision.changes.items():
        searches.change_trial(db, search.id, number, change)
    if decision.stops:
        runs.request_stop(db, _which(search, [by_number[number] for number in decision.stops]), StopSource.SEARCH)
    if decision.resumed:
        which = _which(search, [by_number[number] for number in decision.resumed])
        going_on.retry(db, which, [State.CANCELLED], by=SEARCH)
    _add(db, search, new)
    if decision.asks > len(new):  # the sampler has no more points
        search.trials = len(stored.trials) + len(new)
    if decision.end:
        searches.end(db, search, decision.end)
    return True


def _add(db: Session, search: Search, new: Sequence[NewTrial]) -> None:
    """Store new trials with their runs."""
    last = db.scalar(select(func.max(Run.number)).where(Run.experiment_id == search.experiment_id))
    first = following = 0 if last is None else last + 1
    rows: list[Mapping[str, Any]] = []
    for trial in new:
        has_failed = trial.message is not None
        rows.append(
            {
                "search_id": search.id,
                "number": trial.asked.number,
                "params": trial.asked.params,
                "memory": dict(trial.asked.memory),
                "seed": trial.asked.seed,
                "status": TrialStatus.FAILED if has_failed else TrialStatus.RUNNING,
                "bracket": trial.bracket,
                "rungs": [],
                "first_run": following,
                "runs": len(trial.runs),
                "message": trial.message,
                "ended_at": now() if has_failed else None,
            }
        )
        following += len(trial.runs)
    searches.add_trials(db, rows)
    insert_runs(db, search.experiment_id, [run for trial in new for run in trial.runs], first=first)


def _which(search: Search, trials: Sequence[Trial]) -> ColumnElement[bool]:
    """Return the condition for the runs of trials."""
    ranges = [Run.number.between(trial.first_run, trial.first_run + trial.runs - 1) for trial in trials]
    return and_(Run.experiment_id == search.experiment_id, or_(*ranges))
