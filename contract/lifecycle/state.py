"""The life of a run: the states it may be in and the moves it may make."""

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    QUEUED = "queued"  # wanted; no cluster knows of it
    SUBMITTING = "submitting"  # one launcher has it in hand
    PENDING = "pending"  # the cluster has it and it has said nothing yet
    RUNNING = "running"
    PAUSED = "paused"  # it said its last word and its job is about to leave; then it is queued again, or ends
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


MOVES: dict[State, set[State]] = {
    State.QUEUED: {State.SUBMITTING, State.CANCELLED},
    State.SUBMITTING: {State.PENDING, State.QUEUED, State.FAILED, State.CANCELLED},
    # a short run may end between two looks, so pending may end without having been seen running; one whose job ended
    # before its time is queued again
    State.PENDING: {State.RUNNING, State.PAUSED, State.QUEUED, State.DONE, State.FAILED, State.CANCELLED},
    State.RUNNING: {State.PAUSED, State.QUEUED, State.DONE, State.FAILED, State.CANCELLED},
    State.PAUSED: {State.QUEUED, State.FAILED, State.CANCELLED},
    State.DONE: set(),
    State.FAILED: set(),
    State.CANCELLED: set(),
}
LIVE = frozenset({State.PENDING, State.RUNNING, State.PAUSED})  # a job of it is, or was a moment ago, with a cluster
ENDED = frozenset(state for state, moves in MOVES.items() if not moves)


def joint_state(counts: Mapping[State, int]) -> State:
    """The state of several runs taken together: what is still under way first, then the worst end."""
    order = [
        State.RUNNING,
        State.PENDING,
        State.PAUSED,
        State.SUBMITTING,
        State.QUEUED,
        State.FAILED,
        State.CANCELLED,
        State.DONE,
    ]
    return next((state for state in order if counts.get(state)), State.DONE)
