"""The rate limit: so many calls in any minute; polls, follow-up calls and submissions leave each other slots."""

import itertools
import random
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine

from scheduler.clusters.rate_limit import CALLS_PER_MINUTE, POLL_APART_S, RESERVES, SHARED, SUBMISSIONS, Priority
from scheduler.clusters.shared_rate_limit import SharedRateLimit


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("greedy", Priority)
def test_no_kind_uses_the_slots_of_another_kind(sqlite_engine: Engine, greedy: Priority) -> None:
    """Forces a shortage: one kind makes every call that it may, then every other kind."""
    workers = [SharedRateLimit(sqlite_engine, "slurm") for _ in range(2)]

    def count_allowed(kind: Priority) -> int:
        return sum(worker.acquire(kind) for worker in workers for _ in range(1 + workers[0].count_free(kind)))

    joint = {Priority.SUBMIT, Priority.FIND, Priority.FOLLOW_UP}  # the first has one slot together with each other
    used = {kind: count_allowed(kind) for kind in (greedy, *(kind for kind in Priority if kind is not greedy))}
    for kind in Priority:
        # a prediction for a draft has no call of its own
        if kind not in (greedy, Priority.PREDICT) and kind not in joint:  # the polls' slots are used 20 s apart
            assert used[kind] >= (1 if kind is Priority.POLL else len(RESERVES[kind].slots)), kind
    assert sum(used[kind] for kind in joint) >= 2
    assert sum(used.values()) == CALLS_PER_MINUTE - 2, "two slots remain for the polls 20 s and 40 s later"
    assert not any(workers[1].count_free(kind) for kind in Priority)
    assert SharedRateLimit(sqlite_engine, "another").acquire(Priority.REPORT)


def test_the_reserves_and_the_slots_of_several_kinds_are_the_slots_of_a_minute() -> None:
    own = {slot for slots in RESERVES.values() for slot in slots.slots}
    assert sorted([*own, *SHARED, *SUBMISSIONS]) == list(range(CALLS_PER_MINUTE))


@pytest.mark.ring("all")
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
    assert {priority for at, priority in calls if at > clock[0] - 120.0} == {*Priority} - {Priority.PREDICT}, (
        "every priority that carries something out gets calls"
    )
