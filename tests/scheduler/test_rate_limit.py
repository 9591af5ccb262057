"""The rate limit: twelve calls in any minute; polls, follow-up calls and submissions leave each other slots."""

import itertools
import random
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine

from scheduler.clusters.rate_limit import CALLS_PER_MINUTE, POLL_APART_S, Priority
from scheduler.clusters.shared_rate_limit import SharedRateLimit


@pytest.mark.parametrize("first", [Priority.FOLLOW_UP, Priority.SUBMIT])
def test_no_priority_uses_up_the_slots_of_the_others(sqlite_engine: Engine, first: Priority) -> None:
    workers = [SharedRateLimit(sqlite_engine, "slurm") for _ in range(2)]

    def count_allowed(priority: Priority) -> int:
        return sum(worker.acquire(priority) for worker in workers for _ in range(CALLS_PER_MINUTE))

    (second,) = {Priority.FOLLOW_UP, Priority.SUBMIT} - {first}
    allowed = {priority: count_allowed(priority) for priority in (Priority.REPORT, first, second, Priority.POLL)}
    assert (allowed[Priority.REPORT], allowed[Priority.POLL]) == (2, 1)
    assert allowed[Priority.SUBMIT] >= 4
    assert allowed[Priority.FOLLOW_UP] >= 1
    assert sum(allowed.values()) == CALLS_PER_MINUTE - 2, "two slots remain for the polls 20 s and 40 s later"
    assert not any(workers[1].count_free(priority) for priority in Priority)
    assert SharedRateLimit(sqlite_engine, "another").acquire(Priority.REPORT)


def test_a_poll_is_possible_every_20_s_whatever_else_is_called(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a shortage of calls: for four minutes, every two seconds, each priority makes every call it may."""
    clock, rate_limit, dice = [1e9], SharedRateLimit(sqlite_engine, "slurm"), random.Random(3)
    monkeypatch.setattr("store.rate_limit.time", SimpleNamespace(time=lambda: clock[0]))
    calls: list[tuple[float, Priority]] = []
    for _ in range(120):
        clock[0] += 2.0
        for priority in dice.sample([*Priority] * 2, 2 * len(Priority)):
            if rate_limit.acquire(priority):
                calls.append((clock[0], priority))
    polls = [at for at, priority in calls if priority is Priority.POLL]
    assert max(after - before for before, after in itertools.pairwise(polls)) <= POLL_APART_S + 2.0
    assert max(sum(at <= other < at + 60.0 for other, _ in calls) for at, _ in calls) == CALLS_PER_MINUTE
    assert {priority for at, priority in calls if at > clock[0] - 120.0} == {*Priority}, "every priority gets calls"
