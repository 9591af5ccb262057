"""Searches for submissions in doubt: each costs two calls, so those that come soon after one another share one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from contract.lifecycle.state import State
from scheduler.clusters.cluster import BusyError
from scheduler.context import Site, job_name
from scheduler.ticks.recover import GATHER_S, PATIENCE, recover
from store import runs
from store import submissions as launches
from store.session import transaction
from store.tables import Run, now
from tests.conftest import Experiment
from tests.scheduler.conftest import Puppet, read

EVERY_S = 2  # a tick
PATIENCE_S = PATIENCE.total_seconds()


@pytest.mark.parametrize(
    ("apart_s", "begins_s", "most_searches"),
    [(0.0, 0, 1), (1.1, 0, 2), (2.0, 0, 3), (9.0, 0, 12), (1.1, 14, 2), (1.9, 22, 2), (1.9, 60, 1), (5.0, 56, 3)],
)
def test_submissions_that_were_left_one_after_the_other_share_searches_and_none_waits_long(
    site: Site,
    experiment: Experiment,
    monkeypatch: pytest.MonkeyPatch,
    apart_s: float,
    begins_s: int,
    most_searches: int,
) -> None:
    """Forces the fault: twelve launchers die as they submit, and a worker is there all the while or begins later."""
    searches: list[int] = []
    at_s = float(begins_s)

    class Away(Puppet):
        is_here = False

        def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
            searches.append(len(names))
            return dict.fromkeys(names)

    monkeypatch.setattr("scheduler.ticks.recover.time", SimpleNamespace(monotonic=lambda: at_s))
    # what other tests left there is by the real clock
    monkeypatch.setattr("scheduler.ticks.recover._resting_until", {})
    site = replace(site, clusters={"local": Away()})
    with transaction(site.engine) as db:
        ids = runs.create(db, experiment({"seed": list(range(12))}))[1]
    died_s = {run_id: number * apart_s for number, run_id in enumerate(ids)}
    known_s: dict[int, float] = {}
    while len(known_s) < len(ids):
        for run_id in ids:
            run = read(site, run_id)
            if run.state == State.QUEUED and not run.attempt and died_s[run_id] <= at_s:
                leave_submitting(site, run_id, ago_s=at_s - died_s[run_id])
        recover(site)
        for run_id in ids:
            run = read(site, run_id)
            if run.state == State.QUEUED and run.attempt:
                known_s.setdefault(run_id, at_s)
        at_s += EVERY_S
        assert at_s < 300, known_s
    assert sum(searches) == len(ids)
    assert len(searches) <= most_searches
    for run_id, known_at_s in known_s.items():
        since_s = max(died_s[run_id] + PATIENCE_S, begins_s)
        assert known_at_s <= since_s + GATHER_S + 2 * EVERY_S


def test_a_search_that_had_no_call_does_not_gather_anew(
    site: Site, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the minute's calls are spent when a search has gathered, while others are still to come."""
    at_s, tries = 100.0, list[float]()

    class Spent(Puppet):
        is_here = False

        def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
            tries.append(at_s)
            raise BusyError("this minute's calls of Slurm are spent")

    monkeypatch.setattr("scheduler.ticks.recover.time", SimpleNamespace(monotonic=lambda: at_s))
    # what other tests left there is by the real clock
    monkeypatch.setattr("scheduler.ticks.recover._resting_until", {})
    site = replace(site, clusters={"local": Spent()})
    with transaction(site.engine) as db:
        ids = runs.create(db, experiment({"seed": list(range(9))}))[1]
    for run_id, ago_s in zip(ids, range(17, -1, -2), strict=True):
        leave_submitting(site, run_id, ago_s=ago_s)
    for _ in range(7):
        recover(site)
        at_s += EVERY_S
    assert tries == [108.0, 110.0, 112.0]


def leave_submitting(site: Site, run_id: int, *, ago_s: float) -> None:
    """As a launcher does that dies when it has taken the run."""
    with transaction(site.engine) as db:
        run = db.get_one(Run, run_id)
        launches.take(db, [run], job_name(run.key, run.attempt + 1))
        run.moved_at = now() - timedelta(seconds=ago_s)
