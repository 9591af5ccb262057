"""A cluster's gate as all workers share it: slots and counts in the database."""

import logging

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from scheduler.clusters.gate import PER_MINUTE, Urgency
from store import calls
from store.session import snapshot, transaction

TRIES = 3  # two workers may want the same slot
log = logging.getLogger(__name__)


class Budget:
    def __init__(self, engine: Engine, cluster: str) -> None:
        self._engine, self._cluster, self._has_slots = engine, cluster, False

    def enter(self, urgency: Urgency) -> bool:
        for _ in range(TRIES):
            if not self.free(urgency):
                return False
            with transaction(self._engine) as db:
                if calls.take(db, self._cluster, urgency.value):
                    return True
        return False

    def free(self, urgency: Urgency) -> int:
        if not self._has_slots:
            with transaction(self._engine) as db:
                calls.make_slots(db, self._cluster, PER_MINUTE)
            self._has_slots = True
        with snapshot(self._engine) as db:
            return calls.free(db, self._cluster, urgency.value)

    def note(self, command: str, outcome: str, seconds: float) -> None:
        try:
            with transaction(self._engine) as db:
                calls.count(db, self._cluster, command, outcome, seconds)
        except SQLAlchemyError:  # a count that is missing must not make an answer of the cluster be lost
            log.exception("a call of %s could not be counted", command)
