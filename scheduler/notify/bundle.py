"""Messages from occurrences: one message for all that happened of one kind in an experiment since the last one.

The occurrences are removed in the transaction that stores the messages, so each is in one message of each target.
"""

import hashlib
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from contract.api.notify.message import Message, MessageData, MessageExperiment, MessageRun, MessageType
from contract.lifecycle.notification import NotifyEvent
from scheduler.notify.texts import event_text, event_title, reason_text
from store.notify import deliveries, occurrences
from store.notify.progress import Progress, read_progress
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.notify import NotifyTarget, Occurrence

APART = timedelta(minutes=1)  # between two messages of one kind about an experiment: 1,000 runs may fail one by one
MAX_RUNS = 50  # that a message names
TYPES: dict[NotifyEvent, MessageType] = {
    NotifyEvent.END: "experiment.ended",
    NotifyEvent.FAILURE: "run.failed",
    NotifyEvent.PREEMPTION: "run.preempted",
    NotifyEvent.ANOMALY: "run.anomaly",
    NotifyEvent.BUDGET: "search.budget_used",
}


def make_messages(engine: Engine, public_url: str) -> None:
    """Make the messages that are owed."""
    with snapshot(engine) as db:
        waiting = occurrences.waiting(db)
    for experiment_id, events in sorted(waiting.items()):
        for event in sorted(events):
            with transaction(engine) as db:
                make_message(db, experiment_id, event, public_url)


def make_message(db: Session, experiment_id: int, event: NotifyEvent, public_url: str) -> None:
    """Make the message about one kind of occurrences of an experiment for each target that wants it."""
    last = deliveries.last_created(db, experiment_id, event)
    if event is not NotifyEvent.END and last is not None and now() - last < APART:
        return
    rows = occurrences.take(db, experiment_id, event)
    progress = read_progress(db, experiment_id)
    if not rows or progress is None or (event is NotifyEvent.END and not progress.has_ended):
        return  # another worker was first, or the runs before the last one have ended
    message = _message(event, progress, rows, public_url)
    wanted = {one.target_id for one in occurrences.wanted_by(db, [experiment_id]) if one.event is event}
    targets = [target for target_id in sorted(wanted) if (target := db.get(NotifyTarget, target_id))]
    deliveries.add(
        db,
        [
            {
                "key": _end_key(progress, target.id) if event is NotifyEvent.END else deliveries.new_key(),
                "target_id": target.id,
                "target_name": target.name,
                "experiment_id": experiment_id,
                "event": event.value,
                "title": message.data.title,
                "body": message.model_dump(mode="json"),
            }
            for target in targets
        ],
    )


def _end_key(progress: Progress, target_id: int) -> str:
    """Return the key of the message about one end of an experiment: two runs that end at once cause one message."""
    return f"msg_{hashlib.sha256(f'{progress.end_key()}-{target_id}'.encode()).hexdigest()[:32]}"


def _message(event: NotifyEvent, progress: Progress, rows: Sequence[Occurrence], public_url: str) -> Message:
    has_runs = event not in (NotifyEvent.END, NotifyEvent.BUDGET)
    runs = [_run_of(row) for row in rows[:MAX_RUNS]] if has_runs else []
    total = len(rows)
    data = MessageData(
        title=event_title(event, progress, runs, total),
        text=event_text(event, progress, runs, total),
        experiment=MessageExperiment(
            id=progress.id, name=progress.name, owner=progress.owner, project=progress.project
        ),
        counts={state.value: count for state, count in progress.counts.items()},
        runs=runs,
        more_runs=max(0, total - len(runs)) if has_runs else 0,
        url=f"{public_url.rstrip('/')}/experiments/{progress.id}" if public_url else None,
    )
    return Message(type=TYPES[event], timestamp=now(), data=data)


def _run_of(row: Occurrence) -> MessageRun:
    return MessageRun(
        id=row.run_id,
        step=row.detail.get("step"),
        at=row.at,
        cause=row.detail.get("cause"),
        reason=reason_text(row.detail)[: occurrences.MAX_TEXT],
    )
