"""The notify tick: make the messages that are owed, and deliver those that are due.

A change of a run's state and the note that somebody wants a message about it are one transaction
(store/notify/occurrences.py). This tick makes messages of the notes, in transactions too, and sends them outside any.
"""

from scheduler.context import Context
from scheduler.notify.bundle import make_messages
from scheduler.notify.deliver import deliver_due


def notify(context: Context) -> None:
    """Make messages and send those that are due."""
    make_messages(context.engine, context.public_url)
    deliver_due(context)
