"""Decisions on a search: a table of situations, and what follows from each."""

from typing import Any

import pytest

from contract.lifecycle.reason import StopSource
from contract.lifecycle.state import State
from contract.lifecycle.trial import EndCause, TrialStatus
from contract.spec.search.search import SearchSpec
from scheduler.search.curve import Curve, Reached, value_at
from scheduler.search.decide import DIVERGED, Decision, decide
from scheduler.search.view import SearchView, TrialRun, TrialView

RUNNING, WAITING, SUSPENDED = TrialStatus.RUNNING, TrialStatus.WAITING, TrialStatus.SUSPENDED
DONE, STOPPED, FAILED = TrialStatus.DONE, TrialStatus.STOPPED, TrialStatus.FAILED
TRAINS, IS_DONE, HAS_FAILED = TrialRun(State.RUNNING), TrialRun(State.DONE), TrialRun(State.FAILED)
LEAVES = TrialRun(State.RUNNING, StopSource.SEARCH)
LEFT = TrialRun(State.CANCELLED, StopSource.SEARCH)
CANCELLED = TrialRun(State.CANCELLED, StopSource.USER)
ASHA = {"kind": "asha", "first": 1.0, "last": 9.0}
MEDIAN = {"kind": "median", "first": 1.0, "last": 9.0, "trials": 2}


def trial(number: int, status: TrialStatus, *runs: TrialRun, rungs: tuple[Any, ...] = (), **others: Any) -> TrialView:
    return TrialView(number, status, rungs, runs=runs, **others)


def view(*trials: TrialView, rule: dict[str, Any] | None = None, **others: Any) -> SearchView:
    """A search of nine trials, two at once, that maximizes."""
    document = {
        "space": {"x": {"kind": "uniform", "low": 0, "high": 1}},
        "sampler": {"kind": "random"},
        "trials": 9,
        "at_once": 2,
        "early_stopping": rule or {"kind": "none"},
    }
    rungs = [[1.0, 3.0]] if rule else [[]]
    return SearchView(SearchSpec.model_validate(document), **{"wanted": 9, "rungs": rungs, "trials": trials, **others})


def of(decision: Decision) -> dict[str, Any]:
    """What follows, without what is empty."""
    changes = {
        number: tuple(change[name] for name in ("status", "value") if name in change)
        for number, change in decision.changes.items()
    }
    found = {
        "changes": {number: change for number, change in changes.items() if change},
        "stops": decision.stops,
        "resumed": decision.resumed,
        "asks": decision.asks,
        "end": decision.end,
    }
    return {name: value for name, value in found.items() if value}


WORSE, BETTER = (0.1,), (0.9,)
PAIR = trial(0, RUNNING, TRAINS), trial(1, RUNNING, TRAINS)
FULL_RUNG = [trial(number, WAITING, LEFT, rungs=(0.1 * number,)) for number in range(9)]
CASES: list[tuple[str, SearchView, dict[str, Any]]] = [
    ("the first trials", view(), {"asks": 2}),
    ("no more at once", view(*PAIR), {}),
    ("no more than there shall be", view(wanted=1), {"asks": 1}),
    (
        "a trial is done, and another one begins",
        view(trial(0, RUNNING, IS_DONE, value=0.5), PAIR[1]),
        {"changes": {0: (DONE, 0.5)}, "asks": 1},
    ),
    (
        "a trial is done without a finite value",
        view(trial(0, RUNNING, IS_DONE), PAIR[1]),
        {"changes": {0: (FAILED, None)}, "asks": 1},
    ),
    (
        "one of its repeats failed, so the other one stops",
        view(trial(0, RUNNING, HAS_FAILED, TRAINS, value=0.5)),
        {"changes": {0: (FAILED, None)}, "stops": [0], "asks": 1},
    ),
    (
        "somebody cancelled its run",
        view(trial(0, RUNNING, CANCELLED, value=0.5), PAIR[1]),
        {"changes": {0: (STOPPED, 0.5)}, "asks": 1},
    ),
    (
        "all trials ended",
        view(trial(0, DONE), trial(1, FAILED), wanted=2),
        {"end": EndCause.TRIALS},
    ),
    ("the last trial still trains", view(trial(0, DONE), PAIR[1], wanted=2), {}),
    (
        "a stopped trial holds its allocation until its run has left",
        view(trial(0, FAILED, LEAVES), PAIR[1], wanted=2),
        {},
    ),
    ("the first at a rung goes on", view(trial(0, RUNNING, TRAINS, new_rungs=WORSE), PAIR[1], rule=ASHA), {}),
    (
        "the second at a rung is worse, and waits",
        view(trial(0, RUNNING, TRAINS, rungs=BETTER), trial(1, RUNNING, TRAINS, new_rungs=WORSE), rule=ASHA),
        {"changes": {1: (WAITING, 0.1)}, "stops": [1]},
    ),
    (
        "of two that come together and are equal the first goes on",
        view(*(trial(n, RUNNING, TRAINS, new_rungs=WORSE) for n in (0, 1)), rule=ASHA),
        {"changes": {1: (WAITING, 0.1)}, "stops": [1]},
    ),
    (
        "a trial that passes two rungs between two ticks is stopped at the second",
        view(trial(0, DONE, rungs=(0.1, 0.9)), trial(1, RUNNING, TRAINS, new_rungs=(0.5, 0.6)), rule=ASHA, wanted=2),
        {"changes": {1: (WAITING, 0.6)}, "stops": [1]},
    ),
    (
        "a trial that diverged is stopped for good",
        view(trial(0, RUNNING, TRAINS, new_rungs=(None,)), PAIR[1], rule=ASHA),
        {"changes": {0: (FAILED, None)}, "stops": [0]},
    ),
    (
        "a run that is done is not stopped at the rungs that it passed meanwhile",
        view(trial(0, DONE, rungs=BETTER), trial(1, RUNNING, IS_DONE, new_rungs=WORSE, value=0.2), rule=ASHA, wanted=2),
        {"changes": {1: (DONE, 0.2)}, "end": EndCause.TRIALS},
    ),
    (
        "the best three of nine at a rung go on, at most two at once, the best first",
        view(*FULL_RUNG, rule=ASHA),
        {"changes": {8: (RUNNING,), 7: (RUNNING,)}, "resumed": [8, 7]},
    ),
    (
        "a trial of a higher rung goes on before one of a lower rung, and before a new one",
        view(
            *[trial(n, DONE, rungs=(0.9, 0.1)) for n in range(2)],
            trial(2, WAITING, LEFT, rungs=(0.8, 0.5)),
            trial(3, WAITING, LEFT, rungs=(0.95,)),
            rule=ASHA,
        ),
        {"changes": {2: (RUNNING,), 3: (RUNNING,)}, "resumed": [2, 3]},
    ),
    (
        "a waiting trial goes on only when its job has left",
        view(*FULL_RUNG[:8], trial(8, WAITING, LEAVES, rungs=(0.8,)), rule=ASHA),
        {"changes": {7: (RUNNING,)}, "resumed": [7]},
    ),
    (
        "a waiting trial whose run was done before its stop came is done",
        view(trial(0, DONE, rungs=BETTER), trial(1, WAITING, IS_DONE, rungs=WORSE, value=0.3), rule=ASHA, wanted=2),
        {"changes": {1: (DONE, 0.3)}, "end": EndCause.TRIALS},
    ),
    (
        "nobody else may go on, so the waiting trials end and the search too",
        view(trial(0, DONE, rungs=(0.9, 0.9)), trial(1, WAITING, LEFT, rungs=WORSE), rule=ASHA, wanted=2),
        {"changes": {1: (STOPPED,)}, "end": EndCause.TRIALS},
    ),
    (
        "worse than the median of two others",
        view(
            *(trial(n, DONE, rungs=BETTER) for n in (0, 1)),
            trial(2, RUNNING, TRAINS, new_rungs=WORSE),
            rule=MEDIAN,
            wanted=3,
        ),
        {"changes": {2: (STOPPED, 0.1)}, "stops": [2]},
    ),
    (
        "too few others for a median",
        view(trial(0, DONE, rungs=BETTER), trial(1, RUNNING, TRAINS, new_rungs=WORSE), rule=MEDIAN, wanted=2),
        {},
    ),
    (
        "a pause stops what trains",
        view(*PAIR, is_paused=True),
        {"changes": {0: (SUSPENDED,), 1: (SUSPENDED,)}, "stops": [0, 1]},
    ),
    ("a paused search asks for nothing", view(trial(0, SUSPENDED, LEFT), is_paused=True), {}),
    (
        "after a pause the suspended trials come first",
        view(trial(0, DONE), trial(1, SUSPENDED, LEFT), trial(2, SUSPENDED, LEFT), trial(3, SUSPENDED, LEFT)),
        {"changes": {1: (RUNNING,), 2: (RUNNING,)}, "resumed": [1, 2]},
    ),
    (
        "the budget is used",
        view(*PAIR, is_spent=True),
        {"changes": {0: (SUSPENDED,), 1: (SUSPENDED,)}, "stops": [0, 1]},
    ),
    (
        "the budget is used and nothing trains",
        view(trial(0, RUNNING, LEFT, value=0.4), trial(1, WAITING, LEFT, rungs=WORSE, value=0.1), is_spent=True),
        {"changes": {0: (STOPPED, 0.4), 1: (STOPPED, 0.1)}, "end": EndCause.BUDGET},
    ),
    (
        "stopped on request",
        view(trial(0, RUNNING, CANCELLED), is_stopped=True),
        {"changes": {0: (STOPPED, None)}, "end": EndCause.REQUEST},
    ),
]


@pytest.mark.parametrize(("name", "situation", "follows"), CASES, ids=[case[0] for case in CASES])
def test_what_follows(name: str, situation: SearchView, follows: dict[str, Any]) -> None:
    assert of(decide(situation)) == follows


def test_trials_that_the_end_of_the_budget_stops_say_what_they_did() -> None:
    trials = (trial(0, SUSPENDED, LEFT, value=0.4), trial(1, WAITING, LEFT, rungs=WORSE, value=0.1))
    changes = decide(view(*trials, is_spent=True)).changes
    assert [changes[number]["message"] for number in (0, 1)] == [
        "the budget was used while it ran",
        "the budget was used while it waited at a comparison",
    ]
    changes = decide(view(*trials, is_stopped=True)).changes
    assert [changes[number]["message"] for number in (0, 1)] == [None, None]


def test_a_search_that_minimizes_lets_the_least_go_on() -> None:
    best, worst = trial(0, RUNNING, TRAINS, new_rungs=WORSE), trial(1, RUNNING, TRAINS, new_rungs=BETTER)
    situation = view(worst, best, rule=ASHA)
    least = situation.spec.model_copy(update={"goal": "minimize"})
    decision = decide(SearchView(least, 9, situation.rungs, situation.trials))
    assert (decision.stops, decision.changes[1]["status"]) == ([1], WAITING)
    assert decide(situation).stops == [0]


def test_why_a_trial_failed_is_stored() -> None:
    decision = decide(view(trial(0, RUNNING, TRAINS, new_rungs=(None,)), rule=ASHA))
    assert decision.changes[0]["message"] == DIVERGED


EPOCHS = Curve([10, 20, 30], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("metric", "axis", "resource", "best", "value"),
    [
        (Curve([10, 20, 30], [0.5, 0.9, 0.7]), EPOCHS, 3.0, True, Reached(0.9)),
        (Curve([10, 20, 30], [0.5, 0.9, 0.7]), EPOCHS, 3.0, False, Reached(0.7)),
        (Curve([10, 20, 30], [0.5, 0.9, 0.7]), EPOCHS, 2.0, True, Reached(0.9)),
        (Curve([10, 20, 30], [0.5, 0.9, 0.7]), EPOCHS, 4.0, True, None),
        (Curve([10, 20, 30], [0.5, 0.9, 0.7]), None, 15.0, True, Reached(0.5)),
        (Curve([10, 20], [0.5, None]), EPOCHS, 2.0, True, Reached(None)),
        (Curve([20], [0.5]), EPOCHS, 1.0, True, Reached(0.5)),  # its first evaluation comes later
        (Curve([], []), EPOCHS, 1.0, True, None),
    ],
)
def test_the_value_at_a_resource(
    metric: Curve, axis: Curve | None, resource: float, best: bool, value: Reached | None
) -> None:
    assert value_at(metric, axis, resource, best=best, maximizes=True) == value
