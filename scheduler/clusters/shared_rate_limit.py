"""A cluster's rate limit that all workers share: slots and counts in the database."""

import logging
from collections.abc import Sequence

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from scheduler.clusters.rate_limit import (
    BACKOFF_S,
    CALLS_PER_MINUTE,
    POLL_APART_S,
    RESERVED_FOR_FOLLOW_UP,
    SLOTS,
    Priority,
)
from store import rate_limit
from store.session import snapshot, transaction

TRIES = 3  # two workers may choose the same slot
log = logging.getLogger(__name__)


class SharedRateLimit:
    def __init__(self, engine: Engine, cluster: str) -> None:
        self._engine, self._cluster, self._has_slots = engine, cluster, False

    def acquire(self, priority: Priority) -> bool:
        if self._take(SLOTS[priority], _apart_s(priority)):
            return True
        # a poll may come earlier than its own slots allow, unless the controller did not answer lately
        early = (
            priority is Priority.POLL
            and not self.is_backing_off(POLL_APART_S)
            and self.count_free(Priority.FOLLOW_UP) > RESERVED_FOR_FOLLOW_UP
        )
        return early and self._take(SLOTS[Priority.FOLLOW_UP])

    def _take(self, slots: Sequence[int], apart_s: float = 0.0) -> bool:
        for _ in range(TRIES):
            if not self._count_free(slots, apart_s):
                return False
            with transaction(self._engine) as db:
                if rate_limit.take_slot(db, self._cluster, slots, apart_s):
                    return True
        return False

    def count_free(self, priority: Priority) -> int:
        return self._count_free(SLOTS[priority], _apart_s(priority))

    def _count_free(self, slots: Sequence[int], apart_s: float) -> int:
        if not self._has_slots:
            with transaction(self._engine) as db:
                rate_limit.make_slots(db, self._cluster, CALLS_PER_MINUTE)
            self._has_slots = True
        with snapshot(self._engine) as db:
            return rate_limit.count_free_slots(db, self._cluster, slots, apart_s)

    def record(self, command: str, outcome: str, seconds: float) -> None:
        try:
            with transaction(self._engine) as db:
                rate_limit.count_call(db, self._cluster, command, outcome, seconds)
        except SQLAlchemyError:  # a missing count must not discard the cluster's answer
            log.exception("a call of %s could not be counted", command)

    def is_backing_off(self, seconds: float = BACKOFF_S) -> bool:
        with snapshot(self._engine) as db:
            return rate_limit.gave_no_answer(db, self._cluster, seconds)

    def record_answer(self, *, no_answer: bool) -> None:
        try:
            with transaction(self._engine) as db:
                rate_limit.write_no_answer(db, self._cluster, no_answer=no_answer)
        except SQLAlchemyError:  # as for a count
            log.exception("whether %s answered could not be stored", self._cluster)


def _apart_s(priority: Priority) -> float:
    return POLL_APART_S if priority is Priority.POLL else 0.0
