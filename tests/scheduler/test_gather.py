"""Searches for unconfirmed submissions: a search costs two calls, so submissions that follow shortly share a search."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from contract.lifecycle.state import State
from scheduler.clusters.cluster import RateLimitedError
from scheduler.context import Context, job_name
from scheduler.ticks.recover import GATHER_S, LEASE, recover
from store import submissions
from store.lifecycle import creation
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.clusters import Puppet
from tests.testing.runs import read
from tests.testing.specs import Experiment

EVERY_S = 2  # a tick
LEASE_S = LEASE.total_seconds()


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("apart_s", "begins_s", "most_searches"),
    [(0.0, 0, 1), (1.1, 0, 2), (2.0, 0, 3), (9.0, 0, 12), (1.1, 14, 2), (1.9, 22, 2), (1.9, 60, 1), (5.0, 56, 3)],
)
def test_submissions_of_dead_workers_share_searches_and_none_waits_long(
    context: Context,
    experiment: Experiment,
    monkeypatch: pytest.MonkeyPatch,
    apart_s: float,
    begins_s: int,
    most_searches: int,
) -> None:
    """Forces the fault: twelve workers die while they submit; another worker runs all the time or starts later."""
    searches: list[int] = []
    at_s = float(begins_s)

    class Remote(Puppet):
        is_local = False

        def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
            searches.append(len(names))
            return dict.fromkeys(names)

    monkeypatch.setattr("scheduler.ticks.recover.time", SimpleNamespace(monotonic=lambda: at_s))
    context = replace(context, clusters={"local": Remote()})
    with transaction(context.engine) as db:
        ids = creation.create(db, experiment({"seed": list(range(12))}))[1]
    died_s = {run_id: number * apart_s for number, run_id in enumerate(ids)}
    known_s: dict[int, float] = {}
    while len(known_s) < len(ids):
        for run_id in ids:
            run = read(context, run_id)
            if run.state == State.QUEUED and not run.attempt and died_s[run_id] <= at_s:
                leave_submitting(context, run_id, ago_s=at_s - died_s[run_id])
        recover(context)
        for run_id in ids:
            run = read(context, run_id)
            if run.state == State.QUEUED and run.attempt:
                known_s.setdefault(run_id, at_s)
        at_s += EVERY_S
        assert at_s < 300, known_s
    assert sum(searches) == len(ids)
    assert len(searches) <= most_searches
    for run_id, known_at_s in known_s.items():
        since_s = max(died_s[run_id] + LEASE_S, begins_s)
        assert known_at_s <= since_s + GATHER_S + 2 * EVERY_S


def test_a_search_without_a_free_call_does_not_wait_for_more_names_again(
    context: Context, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the rate limit is reached when a search is due, and further leases are about to expire."""
    at_s, tries = 100.0, list[float]()

    class RateLimited(Puppet):
        is_local = False

        def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
            tries.append(at_s)
            raise RateLimitedError("this minute's calls of Slurm are spent")

    monkeypatch.setattr("scheduler.ticks.recover.time", SimpleNamespace(monotonic=lambda: at_s))
    context = replace(context, clusters={"local": RateLimited()})
    with transaction(context.engine) as db:
        ids = creation.create(db, experiment({"seed": list(range(9))}))[1]
    for run_id, ago_s in zip(ids, range(17, -1, -2), strict=True):
        leave_submitting(context, run_id, ago_s=ago_s)
    for _ in range(7):
        recover(context)
        at_s += EVERY_S
    assert tries == [108.0, 110.0, 112.0]


def leave_submitting(context: Context, run_id: int, *, ago_s: float) -> None:
    """Take the run as a worker that dies at once; its lease was renewed `ago_s` seconds ago."""
    with transaction(context.engine) as db:
        run = db.get_one(Run, run_id)
        (taken,) = submissions.take(db, [run], job_name(run.key, run.attempt + 1))
        assert taken.current_job is not None
        taken.current_job.lease_renewed_at = now() - timedelta(seconds=ago_s)
