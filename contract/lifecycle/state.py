"""States of a run, and the legal moves between them."""

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """The states of a run.

    queued: no cluster has a job of the run. submitting: a worker submits its job. pending: the cluster has its job, and
    the run has reported nothing yet. running: it trains. paused: the run reported that it paused or failed; when its
    job has ended, the run is queued again or ends. done, failed, cancelled: the run has ended, until somebody asks for
    more: a retry, or further epochs.
    """

    QUEUED = "queued"
    SUBMITTING = "submitting"
    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


MOVES: dict[State, set[State]] = {
    State.QUEUED: {State.SUBMITTING, State.CANCELLED, State.DONE},  # done: it took a finished run's result
    State.SUBMITTING: {State.PENDING, State.QUEUED, State.FAILED, State.CANCELLED},
    # a short run may end between two polls without having been seen running
    State.PENDING: {State.RUNNING, State.PAUSED, State.QUEUED, State.DONE, State.FAILED, State.CANCELLED},
    State.RUNNING: {State.PAUSED, State.QUEUED, State.DONE, State.FAILED, State.CANCELLED},
    State.PAUSED: {State.QUEUED, State.FAILED, State.CANCELLED},
    State.DONE: {State.QUEUED},  # further epochs
    State.FAILED: {State.QUEUED},
    State.CANCELLED: {State.QUEUED},
}
LIVE = frozenset({State.PENDING, State.RUNNING, State.PAUSED})  # a cluster has, or just had, a job
ENDED = frozenset({State.DONE, State.FAILED, State.CANCELLED})  # the service itself changes none of these


# of several runs: the first of these states that any run has
JOINT_ORDER = (
    State.RUNNING,
    State.PENDING,
    State.PAUSED,
    State.SUBMITTING,
    State.QUEUED,
    State.FAILED,
    State.CANCELLED,
    State.DONE,
)


def joint_state(counts: Mapping[State, int]) -> State:
    """Return the joint state of several runs: any state before the end first, then the worst end."""
    return next((state for state in JOINT_ORDER if counts.get(state)), JOINT_ORDER[-1])
