"""Decisions on events, as a table: every event, in every state of a live run."""

from typing import Any, get_args

import pytest

from contract.folder.events import (
    CollectivesChosen,
    Event,
    Failed,
    Finished,
    Noticed,
    Paused,
    Points,
    Resumed,
    Saved,
    Started,
    Stopped,
)
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.state import ENDED, LIVE, State
from scheduler.outcome.decide import decide_on_event
from scheduler.outcome.retry import Outcome
from store.transitions import Transition
from tests.testing.decisions import AT, make_job, make_run, rows

pytestmark = pytest.mark.ring("quick")

COMMON: dict[str, Any] = {"attempt": 1, "at": 0.0}
FAILURE = Failed(**COMMON, rank=0, reason="no")
EVENTS: dict[str, Event] = {
    "started": Started(**COMMON, world=2, hosts=["a", "b"], device="cpu", steps=4, versions={}),
    "resumed": Resumed(**COMMON, step=1, lost_steps=0),
    "chose": CollectivesChosen.model_construct(**COMMON, kept=False),
    "points": Points(**COMMON, step=1, values={}),
    "saved": Saved(**COMMON, step=1, stall_s=0.0, write_s=0.0, size_bytes=0),
    "noticed": Noticed(**COMMON, metrics="this run logs to wandb"),
    "paused": Paused(**COMMON, step=1, saved_step=1, reason="SIGTERM to rank 1"),
    "stopped": Stopped(**COMMON, step=1, signal="SIGTERM"),
    "finished": Finished(**COMMON, step=4),
    "failed": FAILURE,
    "failed/memory": FAILURE.model_copy(update={"failure": FailureKind.OUT_OF_MEMORY}),
    "failed/timeout": FAILURE.model_copy(update={"failure": FailureKind.COLLECTIVE_TIMEOUT}),
    "failed/status": FAILURE.model_copy(update={"failure": FailureKind.UNKNOWN}),
}
# The next state by the event (rows) and by the state (columns), "/stop" for a run that was asked to stop. The cause
# that the event reports, or the exit cause where the attempt ends, stands behind the state.
AFTER_EVENT = """
                    pending              pending/stop         running              running/stop         paused paused/stop
    started         running              running              -                    -                    -      -
    resumed         -                    -                    -                    -                    -      -
    chose           -                    -                    -                    -                    -      -
    points          -                    -                    -                    -                    -      -
    saved           -                    -                    -                    -                    -      -
    noticed         -                    -                    -                    -                    -      -
    paused          paused:preempted     cancelled:cancelled  paused:preempted     cancelled:cancelled  -      cancelled:cancelled
    stopped         paused:preempted     -                    paused:preempted     -                    -      -
    finished        done:done            done:done            done:done            done:done            -      -
    failed          paused:failure       cancelled:cancelled  paused:failure       cancelled:cancelled  -      -
    failed/memory   failed:out_of_memory cancelled:cancelled  failed:out_of_memory cancelled:cancelled  -      -
    failed/timeout  paused:node_failure  cancelled:cancelled  paused:node_failure  cancelled:cancelled  -      -
    failed/status   paused:node_failure  cancelled:cancelled  paused:node_failure  cancelled:cancelled  -      -
"""  # noqa: E501  # a table is read as a table


def words_of(outcome: Outcome | None) -> str:
    """Write an outcome as the table does."""
    if outcome is None:
        return "-"
    transition: Transition = outcome.transition
    cause = transition.exit.cause if transition.exit else transition.reported_cause
    return transition.new if cause is None else f"{transition.new}:{cause}"


@pytest.mark.parametrize("name", EVENTS)
def test_each_event_has_its_consequence_in_each_state(name: str) -> None:
    row = rows(AFTER_EVENT)[name]
    found = {}
    for column in row:
        state, _, stop = column.partition("/")
        run = make_run(State(state), stop_requested_at=AT if stop else None)
        found[column] = words_of(decide_on_event(run, EVENTS[name]))
    assert found == row


def test_the_table_covers_each_event_and_each_live_state() -> None:
    (union, *_) = get_args(Event)
    table = rows(AFTER_EVENT)
    assert {type(event) for event in EVENTS.values()} == set(get_args(union))
    assert table.keys() == EVENTS.keys()
    assert {State(column.partition("/")[0]) for row in table.values() for column in row} == LIVE


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_moves_no_run_that_has_ended_or_began_another_attempt(name: str) -> None:
    for run in (make_run(State.PENDING, attempt=2), *(make_run(state) for state in ENDED)):
        assert decide_on_event(run, EVENTS[name]) is None


@pytest.mark.parametrize(("hosts", "words"), [(["a", "b"], "paused:node_failure"), (["a"], "failed:failure")])
def test_a_timeout_casts_suspicion_on_a_host_only_where_there_are_several(hosts: list[str], words: str) -> None:
    event = EVENTS["failed/timeout"]
    run = make_run(retries={"failure": 0}, job=make_job(hosts=hosts))
    assert words_of(decide_on_event(run, event)) == words
