"""The delivery of messages: each target gets its own one after another, several targets at once."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor

from contract.lifecycle.notification import TargetKind
from scheduler.context import Context
from scheduler.notify.addresses import AllowedHosts
from scheduler.notify.outcome import FinalError, SendError
from scheduler.notify.people import send_to_people
from scheduler.notify.webhook import send_webhook
from store.notify import deliveries, targets
from store.notify.deliveries import Claimed
from store.notify.targets import TARGET_DELETED, TargetSecrets
from store.session import snapshot, transaction
from store.tables.base import now

BUDGET_S = 5.0  # for one target in a tick
THREADS = 8
log = logging.getLogger(__name__)


def deliver_due(context: Context) -> None:
    """Send what is due."""
    with snapshot(context.engine) as db:
        due = deliveries.due_targets(db)
    if not due:
        return
    with ThreadPoolExecutor(min(THREADS, len(due))) as pool:
        for _ in pool.map(lambda target_id: _deliver_to(context, target_id), due):
            context.memory.note_progress("notify")


def _deliver_to(context: Context, target_id: int) -> None:
    """Send to one target until nothing is due, an attempt fails, or the time is over."""
    until, goes_on = time.monotonic() + BUDGET_S, True
    while goes_on and time.monotonic() < until:
        with transaction(context.engine) as db:
            claimed = deliveries.claim(db, target_id)
            secrets = targets.secrets_of(db, target_id)
        if claimed is None:
            return
        goes_on = _attempt(context, claimed, secrets)


def _attempt(context: Context, claimed: Claimed, secrets: TargetSecrets | None) -> bool:
    """Send one message and store the outcome; return whether it arrived."""
    error: SendError | None = None
    try:
        if secrets is None:
            raise FinalError(TARGET_DELETED)
        send(claimed, secrets, AllowedHosts.of(context.notify_hosts))
    except SendError as failure:
        error = failure
        log.info("message %s, attempt %d: %s", claimed.key, claimed.attempt, failure)
    except Exception as failure:  # a fault of a library: its text may contain the address
        error = SendError(f"the message could not be sent ({type(failure).__name__})")
        log.warning("message %s, attempt %d: %s", claimed.key, claimed.attempt, error)
    text = None if error is None else str(error)
    with transaction(context.engine) as db:
        if deliveries.settle(db, claimed, text, is_final=isinstance(error, FinalError)):
            targets.store_outcome(db, claimed.target_id, now(), text)
    return error is None


def send(claimed: Claimed, secrets: TargetSecrets, allowed: AllowedHosts) -> None:
    """Send one message; raise SendError."""
    if secrets.kind is TargetKind.WEBHOOK:
        assert secrets.secret is not None
        send_webhook(secrets.address, secrets.secret, claimed.key, claimed.body, allowed)
        return
    data = claimed.body["data"]
    send_to_people(secrets.address, claimed.key, claimed.title, data["text"], data.get("url"), allowed)
