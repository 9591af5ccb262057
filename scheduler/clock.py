"""The clock: Celery beat, which sends fewer ticks while there is nothing to do.

Each tick costs a message and its queries, 17 of them a second. At rest (no run is before its end, no cluster has a job
of ours, and nothing was changed lately) every tick is sent a few times a minute only, as a precaution, and the clock
looks at the database four times a second: a new experiment waits a quarter of a second at most for it.
"""

import logging
import math
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from celery.beat import Scheduler
from celery.signals import beat_init
from sqlalchemy import Engine, bindparam, exists, func, or_, select
from sqlalchemy.exc import SQLAlchemyError

from contract.lifecycle.state import ENDED, State
from contract.lifecycle.step import OPEN_STEPS
from store.notify.deliveries import any_due
from store.runs import IS_OPEN
from store.schedules import any_due as any_start
from store.session import snapshot
from store.tables.base import now
from store.tables.column_types import UtcDateTime
from store.tables.runs import Job, Run
from store.tables.service import Change
from store.tables.steps import Step

LOOK_S = 0.25  # at most so often the clock reads the database
AWAKE_S = 30.0  # after a change for so long every tick is sent: what a tick does may give work to the next
REST_S = 15.0  # at rest, the period of the ticks that are due more often; GET /ready calls a tick late after 60 s
# one statement, made once: the version of the newest change, whether any run, job or step is before its end, and
# whether a message or a start of a schedule is due
UNFINISHED = exists().where(Run.state.in_([state for state in State if state not in ENDED]))
UNFINISHED_STEPS = exists().where(Step.state.in_(OPEN_STEPS))
ANY_JOB = exists().where(*IS_OPEN, Job.id > 0)
AT = bindparam("at", type_=UtcDateTime)  # the moment of the look
LOOK = select(func.max(Change.version), or_(UNFINISHED, UNFINISHED_STEPS, ANY_JOB, any_due(AT), any_start(AT)))


class Activity:
    """Whether the scheduler has work, as far as the database shows."""

    def __init__(self, engine: Callable[[], Engine], clock: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._clock = engine, clock
        self._looked_at = self._changed_at = -math.inf
        self._version: int | None = None
        self._has_work = True

    def has_work(self) -> bool:
        """Return whether ticks are needed at their own pace."""
        present = self._clock()
        if present - self._looked_at >= LOOK_S:
            self._looked_at = present
            self._look(present)
        return self._has_work or present - self._changed_at < AWAKE_S

    def _look(self, present: float) -> None:
        try:
            with snapshot(self._engine()) as db:
                version, self._has_work = db.execute(LOOK, {"at": now()}).one()
        except SQLAlchemyError:  # the ticks report it
            logging.getLogger(__name__).debug("the clock cannot read the database", exc_info=True)
            self._has_work = True
            return
        if version != self._version:
            self._version, self._changed_at = version, present


class Clock(Scheduler):
    """Celery beat's schedule, whose ticks without work are sent together, each REST_S."""

    def __init__(
        self, *arguments: Any, activity: Activity, clock: Callable[[], float] = time.monotonic, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._activity, self._clock = activity, clock
        self._next_round_at = -math.inf  # at rest, when all ticks are sent again

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Send a tick that is due, at rest once the next round has begun; return the seconds until the next call."""
        if self._activity.has_work():
            self._next_round_at = -math.inf
            return float(super().tick(*arguments, **options))
        present = self._clock()
        if present < self._next_round_at:
            return LOOK_S
        wait_s = float(super().tick(*arguments, **options))
        if wait_s > 0:  # every tick of this round was sent
            self._next_round_at = present + REST_S
        return min(wait_s, LOOK_S)


@beat_init.connect
def end_at_a_signal(**_: object) -> None:
    """Let SIGTERM and SIGINT end the clock at once: it keeps nothing that must be stored.

    Celery's own handler raises SystemExit at whatever line the clock is. Inside a finalizer Python ignores an
    exception, and the clock went on: one in 300 ends, measured with PostgreSQL and Redis.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
