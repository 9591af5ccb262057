"""A cluster's gate as all workers share it: slots and counts in the database."""

import logging
from collections.abc import Sequence

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from scheduler.clusters.rate_limit import KEPT, LOOK_APART_S, PER_MINUTE, SPARE_S, Urgency
from store import rate_limit as calls
from store.session import snapshot, transaction

TRIES = 3  # two workers may want the same slot
log = logging.getLogger(__name__)


class Budget:
    def __init__(self, engine: Engine, cluster: str) -> None:
        self._engine, self._cluster, self._has_slots = engine, cluster, False

    def enter(self, urgency: Urgency) -> bool:
        if self._take(urgency.value, _apart_s(urgency)):
            return True
        # a look that comes sooner than it is sure to be possible, unless nobody might answer it
        sooner = urgency is Urgency.LOOK and not self.spared(LOOK_APART_S) and self.free(Urgency.ASK) > KEPT
        return sooner and self._take(Urgency.ASK.value)

    def _take(self, slots: Sequence[int], apart_s: float = 0.0) -> bool:
        for _ in range(TRIES):
            if not self._free(slots, apart_s):
                return False
            with transaction(self._engine) as db:
                if calls.take(db, self._cluster, slots, apart_s):
                    return True
        return False

    def free(self, urgency: Urgency) -> int:
        return self._free(urgency.value, _apart_s(urgency))

    def _free(self, slots: Sequence[int], apart_s: float) -> int:
        if not self._has_slots:
            with transaction(self._engine) as db:
                calls.make_slots(db, self._cluster, PER_MINUTE)
            self._has_slots = True
        with snapshot(self._engine) as db:
            return calls.free(db, self._cluster, slots, apart_s)

    def note(self, command: str, outcome: str, seconds: float) -> None:
        try:
            with transaction(self._engine) as db:
                calls.count(db, self._cluster, command, outcome, seconds)
        except SQLAlchemyError:  # a count that is missing must not make an answer of the cluster be lost
            log.exception("a call of %s could not be counted", command)

    def spared(self, seconds: float = SPARE_S) -> bool:
        with snapshot(self._engine) as db:
            return calls.is_silent(db, self._cluster, seconds)

    def heard(self, *, silence: bool) -> None:
        try:
            with transaction(self._engine) as db:
                calls.note_silence(db, self._cluster, silence=silence)
        except SQLAlchemyError:  # as of a count
            log.exception("whether %s kept silent could not be written down", self._cluster)


def _apart_s(urgency: Urgency) -> float:
    return LOOK_APART_S if urgency is Urgency.LOOK else 0.0
