"""The budget of calls: a hard bound for any minute, and what is looked at gives way to what is done."""

import pytest
from sqlalchemy import Engine

from scheduler.budget import Budget
from scheduler.clusters.gate import PER_MINUTE, Urgency


@pytest.mark.parametrize("first", [Urgency.ASK, Urgency.ACT])
def test_looks_and_submissions_leave_room_for_each_other_and_nothing_passes_the_bound(
    sqlite_engine: Engine, first: Urgency
) -> None:
    two, second = [Budget(sqlite_engine, "slurm") for _ in range(2)], {Urgency.ASK, Urgency.ACT} - {first}
    told = sum(two[0].enter(Urgency.TELL) for _ in range(PER_MINUTE))
    entered = [sum(budget.enter(kind) for budget in two for _ in range(PER_MINUTE)) for kind in (first, *second)]
    assert (told, min(entered) >= 3, told + sum(entered)) == (2, True, PER_MINUTE)
    assert not any(two[1].free(kind) for kind in Urgency)
    assert Budget(sqlite_engine, "another").enter(Urgency.TELL)
