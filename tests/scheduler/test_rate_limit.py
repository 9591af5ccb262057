"""The budget of calls: a hard bound for any minute, in which looks, questions and submissions leave each other room."""

import itertools
import random
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine

from scheduler.clusters.rate_limit import LOOK_APART_S, PER_MINUTE, Urgency
from scheduler.clusters.shared_rate_limit import Budget


@pytest.mark.parametrize("first", [Urgency.ASK, Urgency.ACT])
def test_looks_and_submissions_leave_room_for_each_other_and_nothing_passes_the_bound(
    sqlite_engine: Engine, first: Urgency
) -> None:
    two, second = [Budget(sqlite_engine, "slurm") for _ in range(2)], {Urgency.ASK, Urgency.ACT} - {first}
    told = sum(two[0].enter(Urgency.TELL) for _ in range(PER_MINUTE))
    entered = {kind: sum(b.enter(kind) for b in two for _ in range(PER_MINUTE)) for kind in (first, *second)}
    looked = sum(budget.enter(Urgency.LOOK) for budget in two for _ in range(PER_MINUTE))
    assert (told, entered[Urgency.ACT] >= 4, entered[Urgency.ASK] >= 1, looked) == (2, True, True, 1)
    assert told + sum(entered.values()) + looked == PER_MINUTE - 2, (
        "what is left is for the looks that come 20 s and 40 s later"
    )
    assert not any(two[1].free(kind) for kind in Urgency)
    assert Budget(sqlite_engine, "another").enter(Urgency.TELL)


def test_a_look_is_possible_every_20_s_whatever_else_is_called(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the scarcity: for four minutes everybody calls every two seconds whenever that is allowed."""
    clock, budget, dice = [1e9], Budget(sqlite_engine, "slurm"), random.Random(3)
    monkeypatch.setattr("store.rate_limit.time", SimpleNamespace(time=lambda: clock[0]))
    called: list[tuple[float, Urgency]] = []
    for _ in range(120):
        clock[0] += 2.0
        for kind in dice.sample([*Urgency] * 2, 2 * len(Urgency)):
            if budget.enter(kind):
                called.append((clock[0], kind))
    looks = [at for at, kind in called if kind is Urgency.LOOK]
    assert max(after - before for before, after in itertools.pairwise(looks)) <= LOOK_APART_S + 2.0
    assert max(sum(at <= other < at + 60.0 for other, _ in called) for at, _ in called) == PER_MINUTE
    assert {kind for at, kind in called if at > clock[0] - 120.0} == {*Urgency}, "nobody starves"
