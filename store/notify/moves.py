"""What moves of runs mean for notifications: their ends, failures and preemptions."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy.orm import Session

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.notification import NotifyEvent
from contract.lifecycle.reason import RankFailed, Reason, RunFailed
from contract.lifecycle.state import ENDED, State
from store.notify import occurrences

MOST_NAMES = 5  # of series, in a message


def note_moves(
    db: Session, run_ids: Sequence[int], new: State, reason: Reason | None, cause: ExitCause | None = None
) -> None:
    """Note what follows from a move of runs; `cause` is that of the attempt that ends with the move."""
    if new in ENDED:
        occurrences.note_runs(db, NotifyEvent.END, run_ids)
    detail = _detail(reason, cause)
    if new is State.FAILED:
        occurrences.note_runs(db, NotifyEvent.FAILURE, run_ids, **detail)
    if cause is ExitCause.PREEMPTED:
        occurrences.note_runs(db, NotifyEvent.PREEMPTION, run_ids, **detail)
    if cause is not None and _is_stall(reason):
        occurrences.note_runs(db, NotifyEvent.ANOMALY, run_ids, **(detail | {"cause": "stall"}))


def note_losses(db: Session, run_id: int, step: int, lost: Iterable[str]) -> None:
    """Note the losses of a run among its series whose newest values are no finite numbers any more."""
    if names := [name for name in lost if is_loss(name)]:
        text = f"{', '.join(names[:MOST_NAMES])} at step {step}"
        occurrences.note_runs(db, NotifyEvent.ANOMALY, [run_id], cause="not_finite", text=text)


def is_loss(name: str) -> bool:
    """Return whether a series is a loss, by its name."""
    return "loss" in name.lower()


def _detail(reason: Reason | None, cause: ExitCause | None) -> dict[str, Any]:
    data = {} if reason is None else {"reason": reason.model_dump(mode="json", exclude_none=True)}
    return data if cause is None else {**data, "cause": cause.value}


def _is_stall(reason: Reason | None) -> bool:
    """Return whether an attempt ended because a rank made no progress."""
    ending = getattr(reason, "after", None) or reason
    return isinstance(ending, RunFailed | RankFailed) and ending.failure is FailureKind.COLLECTIVE_TIMEOUT
