"""The launch tick: submit queued runs, and watch for new ones until the next tick is due.

A tick twice a second, through a broker, would delay a new run by a quarter of a second on average. Reading the newest
run's id reads the end of an index, however many runs there are.
"""

import time

from sqlalchemy import func, select

from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from store.session import snapshot
from store.tables.runs import Run

# with the submission that was begun last, less than the period: a tick that comes while one runs is left out
WORK_S, WATCH_S, NAP_S = 0.3, 0.35, 0.04


def launch(context: Context) -> None:
    """Submit queued runs, and those that are added within the next moments."""
    began, newest = time.monotonic(), _newest(context)
    submit_queued(context, began + WORK_S)
    # an open submission goes on with the next tick, so this one ends in time
    while time.monotonic() < began + WATCH_S and not context.memory.open_submissions:
        time.sleep(NAP_S)
        if (now_newest := _newest(context)) != newest:
            newest = now_newest
            submit_queued(context, began + WORK_S)


def _newest(context: Context) -> int | None:
    with snapshot(context.engine) as db:
        return db.scalar(select(func.max(Run.id)))
