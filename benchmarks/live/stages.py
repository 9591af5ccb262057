"""Lags of points at each stage, from the moments at which something knew of a run's newest step."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Engine, select

from store import changes
from store.session import snapshot
from store.tables.runs import Run
from store.tables.service import Change

LOOK_S = 0.02


class Lag(NamedTuple):
    """The lags of all points of all runs, in milliseconds."""

    points: int
    median_ms: float
    p99_ms: float


class StoredSteps(threading.Thread):
    """Records when the steps of runs were stored: it looks at the table of changes fifty times a second."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.seen: list[tuple[int, int, float]] = []  # run, its newest step, the moment of the transaction
        self.end = threading.Event()
        self._engine = engine

    def run(self) -> None:
        """Look until the end."""
        with snapshot(self._engine) as db:
            since = changes.position(db)
        while not self.end.wait(LOOK_S):
            with snapshot(self._engine) as db:
                following = changes.position(db)
                if following == since:
                    continue
                query = select(Change.run_id, Run.step, Change.at).join(Run, Run.id == Change.run_id)
                rows = db.execute(query.where(Change.version >= since)).all()
            # the transaction's own moment, which was before its commit
            self.seen += [(row[0], row[1], max(row[2].timestamp(), time.time() - LOOK_S)) for row in rows]
            since = following


def lag_of(seen: Iterable[tuple[int, int, float]], written: Sequence[float]) -> Lag:
    """Return the lag of each point from its write until its run's newest step was at least its own."""
    by_run: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for run_id, step, moment in seen:
        by_run[run_id].append((step, moment))
    lags = sorted(lag for run in by_run.values() for lag in _lags(run, written))
    if not lags:
        return Lag(0, 0.0, 0.0)
    at = (len(lags) // 2, min(len(lags) - 1, int(len(lags) * 0.99)))
    return Lag(len(lags), *(round(1000 * lags[place], 0) for place in at))


def _lags(seen: Sequence[tuple[int, float]], written: Sequence[float]) -> Iterable[float]:
    known = 0
    for step, moment in sorted(seen, key=lambda one: one[1]):
        for number in range(known, min(step, len(written))):
            yield moment - written[number]
        known = max(known, step)


def table_of(lags: Mapping[str, Lag]) -> str:
    """Return the lags as lines."""
    return "\n".join(
        f"{stage:28} median {lag.median_ms:6.0f} ms, p99 {lag.p99_ms:6.0f} ms, {lag.points:,} points"
        for stage, lag in lags.items()
    )
