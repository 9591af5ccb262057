"""The decisions about steps, as a table: what a step does next, from the states of all steps and of its runs."""

from collections.abc import Mapping

import pytest

from contract.lifecycle.state import State
from contract.lifecycle.step import (
    STEP_MOVES,
    EmptyList,
    NeedEnded,
    RunsEnded,
    StepReason,
    StepState,
    WorkflowFailed,
)
from scheduler.workflow.decide import Decision, Expand, Move, StepFacts, decide_step

WAITING, RUNNING, DONE = StepState.WAITING, StepState.RUNNING, StepState.DONE
FAILED, SKIPPED, CANCELLED = StepState.FAILED, StepState.SKIPPED, StepState.CANCELLED


def fact(
    name: str,
    state: StepState,
    *needs: str,
    on_failure: str = "fail",
    runs: Mapping[State, int] | None = None,
    reason: StepReason | None = None,
) -> StepFacts:
    return StepFacts(name, state, needs, on_failure, runs or {}, reason)


def ended(failed: int, cancelled: int, total: int) -> RunsEnded:
    return RunsEnded(failed=failed, cancelled=cancelled, total=total)


B = fact("b", WAITING, "a")
ENDED_BY_A = WorkflowFailed(step="a", state=FAILED)


@pytest.mark.parametrize(
    ("steps", "decision"),
    [
        # steps that wait: the first is decided about
        ([fact("b", WAITING)], Expand()),
        ([B, fact("a", WAITING)], None),
        ([B, fact("a", RUNNING, runs={State.RUNNING: 1})], None),
        ([B, fact("a", DONE)], Expand()),
        ([fact("b", WAITING, "a", "c"), fact("a", DONE), fact("c", RUNNING)], None),
        ([fact("b", WAITING, "a", "c"), fact("a", DONE), fact("c", DONE)], Expand()),
        # a step did not succeed
        ([B, fact("a", FAILED)], Move(CANCELLED, WorkflowFailed(step="a", state=FAILED))),
        ([B, fact("a", CANCELLED)], Move(CANCELLED, WorkflowFailed(step="a", state=CANCELLED))),
        ([B, fact("a", FAILED, on_failure="skip")], Move(SKIPPED, NeedEnded(step="a", state=FAILED))),
        ([B, fact("a", CANCELLED, on_failure="skip")], Move(SKIPPED, NeedEnded(step="a", state=CANCELLED))),
        ([B, fact("a", FAILED, on_failure="continue")], Expand()),
        ([B, fact("a", SKIPPED)], Move(SKIPPED, NeedEnded(step="a", state=SKIPPED))),
        ([B, fact("a", SKIPPED, on_failure="continue")], Move(SKIPPED, NeedEnded(step="a", state=SKIPPED))),
        # on another branch
        ([B, fact("a", RUNNING), fact("z", FAILED)], Move(CANCELLED, WorkflowFailed(step="z", state=FAILED))),
        ([B, fact("a", DONE), fact("z", FAILED, on_failure="skip")], Expand()),
        ([B, fact("a", DONE), fact("z", FAILED, on_failure="continue")], Expand()),
        # what another step's failure has cancelled is no failure of its own
        ([B, fact("a", DONE), fact("z", CANCELLED, reason=ENDED_BY_A)], Expand()),
        # of several obstacles, skipping does not wait for the others
        (
            [fact("b", WAITING, "a", "c"), fact("a", RUNNING), fact("c", SKIPPED)],
            Move(SKIPPED, NeedEnded(step="c", state=SKIPPED)),
        ),
        # steps that run
        ([fact("a", RUNNING, runs={State.QUEUED: 1, State.DONE: 3})], None),
        ([fact("a", RUNNING, runs={State.FAILED: 1, State.PAUSED: 1})], None),
        ([fact("a", RUNNING, runs={State.DONE: 3})], Move(DONE)),
        ([fact("a", RUNNING, runs={State.DONE: 3, State.FAILED: 1})], Move(FAILED, ended(1, 0, 4))),
        ([fact("a", RUNNING, runs={State.DONE: 1, State.CANCELLED: 2})], Move(CANCELLED, ended(0, 2, 3))),
        ([fact("a", RUNNING, runs={State.FAILED: 1, State.CANCELLED: 2})], Move(FAILED, ended(1, 2, 3))),
        ([fact("a", RUNNING, runs={State.FAILED: 1}, on_failure="continue")], Move(FAILED, ended(1, 0, 1))),
        ([fact("a", RUNNING, runs={})], Move(DONE)),  # all of its runs are deleted
        ([fact("a", RUNNING, reason=EmptyList(reference="r"))], Move(DONE, EmptyList(reference="r"))),
        # a failure elsewhere lets running steps go on
        ([fact("a", RUNNING, runs={State.RUNNING: 1}), fact("z", FAILED)], None),
        # steps that have ended stay
        ([fact("a", DONE)], None),
        ([fact("a", FAILED)], None),
        ([fact("a", SKIPPED)], None),
        ([fact("a", CANCELLED)], None),
    ],
)
def test_the_decision_about_a_step(steps: list[StepFacts], decision: Decision) -> None:
    assert decide_step(steps[0], {step.name: step for step in steps}) == decision


def test_every_decided_move_is_legal() -> None:
    assert {new for old in (WAITING, RUNNING) for new in STEP_MOVES[old]} == {RUNNING, DONE, FAILED, SKIPPED, CANCELLED}
    assert RUNNING not in STEP_MOVES[RUNNING]
    assert all(WAITING not in STEP_MOVES[state] for state in (WAITING, RUNNING, DONE)), "a step gets its runs once"
