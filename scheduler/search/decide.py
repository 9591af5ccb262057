"""Decisions on a search: which trials end, stop and go on, and how many new ones are asked for. A pure function."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from contract.lifecycle.trial import GOING_ON, STOPPED_BY_BUDGET, EndCause, TrialStatus
from contract.spec.search.early_stopping import Asha, Hyperband, MedianStopping
from contract.spec.search.samplers import PopulationSampler
from scheduler.search.halving import Results, goes_on, is_below_median, promotable
from scheduler.search.view import SearchView, TrialView

DIVERGED = "the values of the metric are not finite numbers"
NO_VALUE = "its runs are done, and have no finite value of the metric"


@dataclass
class Decision:
    """What follows for a search."""

    changes: dict[int, dict[str, Any]] = field(default_factory=dict)  # of trials, by their number
    stops: list[int] = field(default_factory=list)  # trials whose runs are asked to stop
    resumed: list[int] = field(default_factory=list)  # trials whose stopped runs go on
    asks: int = 0  # new trials
    end: EndCause | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing follows."""
        return not (self.changes or self.stops or self.resumed or self.asks or self.end)


def decide(view: SearchView) -> Decision:
    """Return what follows from the state of a search."""
    decision = Decision()
    trials = {trial.number: trial for trial in view.trials}
    for trial in view.trials:
        if trial.goes_on:
            _settle(decision, trial)
    _compare(view, decision)
    if view.is_stopped or view.is_spent:
        _stop_all(view, decision)
        return decision
    if view.is_paused:
        for number in _with_status(view, decision, TrialStatus.RUNNING):
            _note(decision, number, status=TrialStatus.SUSPENDED)
            decision.stops.append(number)
        return decision
    busy = [trial for trial in view.trials if trial.is_live or _status(decision, trial) is TrialStatus.RUNNING]
    free = view.spec.at_once - len(busy)
    for number in [*_with_status(view, decision, TrialStatus.SUSPENDED), *_promotions(view, decision)]:
        if free > 0 and not trials[number].is_live:
            _note(decision, number, status=TrialStatus.RUNNING)
            decision.resumed.append(number)
            free -= 1
    decision.asks = max(0, min(free, view.wanted - len(trials), _idle_members(view, decision)))
    if not decision.asks and not decision.resumed and not busy and len(trials) >= view.wanted:
        _finish(view, decision)
    return decision


def _idle_members(view: SearchView, decision: Decision) -> int:
    """Return how many members of a population have no generation now; without a population there is no limit."""
    sampler = view.spec.sampler
    if not isinstance(sampler, PopulationSampler):
        return view.wanted
    taken = (TrialStatus.RUNNING, TrialStatus.SUSPENDED)
    return sampler.members - sum(trial.is_live or _status(decision, trial) in taken for trial in view.trials)


def _settle(decision: Decision, trial: TrialView) -> None:
    """End a trial whose runs have ended by themselves."""
    if trial.has_failed:
        _note(decision, trial.number, status=TrialStatus.FAILED, value=None, message="a run of it failed")
        decision.stops += [trial.number] if trial.is_live else []
    elif trial.is_done:
        is_sound = trial.value is not None
        status = TrialStatus.DONE if is_sound else TrialStatus.FAILED
        _note(decision, trial.number, status=status, value=trial.value, message=None if is_sound else NO_VALUE)
    elif not trial.is_live and (trial.status is TrialStatus.RUNNING or trial.was_cancelled):
        _note(decision, trial.number, status=TrialStatus.STOPPED, value=trial.value, message="a run of it was stopped")


def _compare(view: SearchView, decision: Decision) -> None:
    """Store the values at rungs that trials have reached, and stop the trials that are not good enough.

    All that have reached a rung since the last tick are compared with each other.
    """
    deepest = max((len(trial.rungs) + len(trial.new_rungs) for trial in view.trials), default=0)
    for at in range(deepest):
        here = [trial for trial in view.trials if _arrives(decision, trial, at)]
        for trial in here:
            known = [*trial.rungs, *trial.new_rungs][: at + 1]
            _note(decision, trial.number, rungs=known)
        for trial in here:
            if _status(decision, trial) is TrialStatus.RUNNING and not trial.is_done:
                _judge(view, decision, trial, at)


def _arrives(decision: Decision, trial: TrialView, at: int) -> bool:
    """Return whether a trial has reached a rung since the last tick, and was not stopped at a lower one."""
    was_stopped = trial.status is TrialStatus.RUNNING and _status(decision, trial) is not TrialStatus.RUNNING
    has_reached = len(trial.rungs) <= at < len(trial.rungs) + len(trial.new_rungs)
    return has_reached and (trial.is_done or not was_stopped)


def _judge(view: SearchView, decision: Decision, trial: TrialView, at: int) -> None:
    """Stop a running trial that is not good enough at the rung that it has just reached."""
    rule, value = view.spec.early_stopping, decision.changes[trial.number]["rungs"][at]
    if value is None:
        _note(decision, trial.number, status=TrialStatus.FAILED, value=None, message=DIVERGED)
    elif isinstance(rule, MedianStopping):
        others = [known for number, known in _results(view, decision, 0, at).items() if number != trial.number]
        if not is_below_median(value, others, rule.trials, maximizes=view.spec.maximizes):
            return
        _note(decision, trial.number, status=TrialStatus.STOPPED, value=value)
    elif isinstance(rule, Asha | Hyperband):
        results, reached = _results(view, decision, trial.bracket, at), _reached(view, decision, trial.bracket, at)
        if goes_on(results, reached, trial.number, rule.reduction, maximizes=view.spec.maximizes):
            return
        _note(decision, trial.number, status=TrialStatus.WAITING, value=value)
    decision.stops.append(trial.number)


def _promotions(view: SearchView, decision: Decision) -> Iterator[int]:
    """Yield the stopped trials that may go on, those of the highest rungs first."""
    rule = view.spec.early_stopping
    if not isinstance(rule, Asha | Hyperband):
        return
    waiting = set(_with_status(view, decision, TrialStatus.WAITING))
    deepest = max(map(len, view.rungs))
    for at in reversed(range(deepest)):
        for bracket in range(len(view.rungs)):
            here = [trial.number for trial in view.trials if trial.number in waiting and trial.bracket == bracket]
            here = [number for number in here if len(_rungs(view, decision)[number]) == at + 1]
            results, reached = _results(view, decision, bracket, at), _reached(view, decision, bracket, at)
            yield from promotable(results, reached, here, rule.reduction, maximizes=view.spec.maximizes)


def _stop_all(view: SearchView, decision: Decision) -> None:
    """Stop every trial; end the search when no run of it is left."""
    for trial in view.trials:
        if (status := _status(decision, trial)) not in GOING_ON:
            continue
        if trial.is_live:
            decision.stops += [] if trial.is_stopping or trial.number in decision.stops else [trial.number]
            if status is TrialStatus.RUNNING and not view.is_stopped:  # it goes on with a larger budget
                _note(decision, trial.number, status=TrialStatus.SUSPENDED)
        else:
            message = None if view.is_stopped else STOPPED_BY_BUDGET.get(status)
            _note(decision, trial.number, status=TrialStatus.STOPPED, value=trial.value, message=message)
    if not any(trial.is_live for trial in view.trials):
        decision.end = EndCause.REQUEST if view.is_stopped else EndCause.BUDGET


def _finish(view: SearchView, decision: Decision) -> None:
    for number in _with_status(view, decision, TrialStatus.WAITING):
        _note(decision, number, status=TrialStatus.STOPPED)
    decision.end = EndCause.TRIALS


def _results(view: SearchView, decision: Decision, bracket: int, at: int) -> Results:
    """Return the finite values of the trials of a bracket at a rung."""
    rungs = _rungs(view, decision)
    values = {trial.number: rungs[trial.number][at : at + 1] for trial in view.trials if trial.bracket == bracket}
    return {number: own[0] for number, own in values.items() if own and own[0] is not None}


def _reached(view: SearchView, decision: Decision, bracket: int, at: int) -> int:
    """Return the number of trials of a bracket that reached a rung, with those that diverged there or before."""
    rungs = _rungs(view, decision)
    return sum(
        len(rungs[trial.number]) > at or _status(decision, trial) is TrialStatus.FAILED
        for trial in view.trials
        if trial.bracket == bracket
    )


def _rungs(view: SearchView, decision: Decision) -> Mapping[int, list[float | None]]:
    changed = {number: change["rungs"] for number, change in decision.changes.items() if "rungs" in change}
    return {trial.number: changed.get(trial.number, list(trial.rungs)) for trial in view.trials}


def _status(decision: Decision, trial: TrialView) -> TrialStatus:
    status: TrialStatus = decision.changes.get(trial.number, {}).get("status", trial.status)
    return status


def _with_status(view: SearchView, decision: Decision, status: TrialStatus) -> list[int]:
    return [trial.number for trial in view.trials if _status(decision, trial) is status]


def _note(decision: Decision, number: int, **change: Any) -> None:
    decision.changes.setdefault(number, {}).update(change)
