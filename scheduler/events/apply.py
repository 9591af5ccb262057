"""What a run's events mean for it: where it is now, and what of it is measured."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from contract.folder.events import Event, Failed, Finished, Paused, Points, Resumed, Saved, Started
from contract.lifecycle.state import LIVE, State
from contract.metric_names import CHECKPOINT_BYTES, CHECKPOINT_STALL_S, CHECKPOINT_WRITE_S
from contract.spec.retry import Cause
from scheduler.outcome.exit_cause import why_paused
from scheduler.outcome.retry import fail, go_on
from store import jobs as attempts
from store import runs
from store.metrics import restarts
from store.tables import Run


def measured(events: Sequence[Event]) -> list[Points]:
    """What the events measured: steps, and what checkpoints cost."""
    return [point for event in events if (point := _points(event))]


def take(db: Session, run: Run, events: Sequence[Event]) -> None:
    """Move a run, whose row this transaction holds, by its events."""
    latest: dict[str, Any] = dict(run.latest)
    for told in (said := measured(events)):
        latest.update(told.values)
    run.latest, run.step = latest, max([run.step, *(told.step for told in said)])
    for event in events:
        if isinstance(event, Resumed):
            restarts.note(db, run.id, event)
        if event.attempt == run.attempt and run.state in LIVE:
            _move_by(db, run, event, events)


def _points(event: Event) -> Points | None:
    if isinstance(event, Saved) and event.error is None:
        costs = {CHECKPOINT_STALL_S: event.stall_s, CHECKPOINT_WRITE_S: event.write_s}
        values = {**costs, CHECKPOINT_BYTES: float(event.size_bytes)}
        return Points(attempt=event.attempt, at=event.at, step=event.step, values=dict(values))
    return event if isinstance(event, Points) else None


def _move_by(db: Session, run: Run, event: Event, told_with: Sequence[Event]) -> None:
    match event:
        case Started(hosts=hosts) if run.state == State.PENDING:
            runs.move_held(db, run, State.RUNNING, hosts=sorted(set(hosts)), waits_for=None, waits_kind=None)
        case Paused(reason=reason) if run.stop_wanted_at:
            go_on(db, run, Cause.PREEMPTED, reason)
        case _ if run.state == State.PAUSED:
            pass  # its last word is said: told twice, or followed by another, it still waits for its job to leave
        case Finished():
            attempts.note(run, Cause.DONE, None)
            runs.move_held(db, run, State.DONE)
        case Failed(reason=reason, failure=kind):
            fail(db, run, reason, kind)
        case Paused(step=step, reason=reason):
            cause = why_paused(run, event, told_with)
            runs.move_held(db, run, State.PAUSED, reason=f"paused at step {step}: {reason}", own_cause=cause)
