"""A cluster's rate limit that all workers share: slots and counts in the database."""

import logging
import math
import time

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from scheduler.clusters.rate_limit import (
    BACKOFF_S,
    CALLS_PER_MINUTE,
    FURTHER,
    HOST_FAULT_S,
    POLL_APART_S,
    RESERVES,
    SHARED,
    YIELDED,
    Priority,
    Slots,
)
from store import rate_limit
from store.session import snapshot, transaction

TRIES = 3  # two workers may choose the same slot
log = logging.getLogger(__name__)


class SharedRateLimit:
    def __init__(self, engine: Engine, cluster: str) -> None:
        self._engine, self._cluster, self._has_slots = engine, cluster, False
        self._host_fault_at = -math.inf  # by time.monotonic

    def acquire(self, priority: Priority) -> bool:
        if any(self._take(priority, slots) for slots in _slots_of(priority)):
            return True
        return priority is Priority.POLL and self._is_idle() and self._take(priority, YIELDED)

    def _is_idle(self) -> bool:
        """Return whether the cluster answers, and nothing was submitted, cancelled or searched for lately."""
        unused = sum(len(slots.slots) for slots in _slots_of(Priority.SUBMIT))
        return not self.is_backing_off(POLL_APART_S) and self.count_free(Priority.SUBMIT) == unused

    def _take(self, priority: Priority, slots: Slots) -> bool:
        for _ in range(TRIES):
            if not self._count_free(slots):
                return False
            with transaction(self._engine) as db:
                if rate_limit.take_slot(db, self._cluster, *slots, kind=priority.value):
                    return True
        return False

    def count_free(self, priority: Priority) -> int:
        return sum(self._count_free(slots) for slots in _slots_of(priority))

    def count_shared(self) -> int:
        return self._count_free(Slots(SHARED))

    def _count_free(self, slots: Slots) -> int:
        if not self._has_slots:
            with transaction(self._engine) as db:
                reserves = {kind.value: len(RESERVES[kind].slots) if kind in RESERVES else 0 for kind in Priority}
                rate_limit.make_slots(db, self._cluster, CALLS_PER_MINUTE, reserves)
            self._has_slots = True
        with snapshot(self._engine) as db:
            return rate_limit.count_free_slots(db, self._cluster, *slots)

    def record(self, command: str, outcome: str, seconds: float) -> None:
        try:
            with transaction(self._engine) as db:
                rate_limit.count_call(db, self._cluster, command, outcome, seconds)
        except SQLAlchemyError:  # a missing count must not discard the cluster's answer
            log.exception("a call of %s could not be counted", command)

    def is_backing_off(self, seconds: float = BACKOFF_S) -> bool:
        with snapshot(self._engine) as db:
            return rate_limit.gave_no_answer(db, self._cluster, seconds)

    def has_host_fault(self) -> bool:
        return time.monotonic() - self._host_fault_at < HOST_FAULT_S

    def record_host_fault(self) -> None:
        self._host_fault_at = time.monotonic()

    def record_answer(self, *, no_answer: bool) -> None:
        try:
            with transaction(self._engine) as db:
                rate_limit.write_no_answer(db, self._cluster, no_answer=no_answer)
        except SQLAlchemyError:  # as for a count
            log.exception("whether %s answered could not be stored", self._cluster)


def _slots_of(priority: Priority) -> list[Slots]:
    return [by_kind[priority] for by_kind in (RESERVES, FURTHER) if priority in by_kind]
