"""The budget of calls: a hard bound for any minute, and what is looked at gives way to what is done."""

from sqlalchemy import Engine

from scheduler.budget import Budget
from scheduler.clusters.gate import PER_MINUTE, Urgency


def test_looks_leave_room_for_submissions_and_nothing_passes_the_bound(sqlite_engine: Engine) -> None:
    mine, other = Budget(sqlite_engine, "slurm"), Budget(sqlite_engine, "slurm")
    asked = sum(budget.enter(Urgency.ASK) for budget in (mine, other) for _ in range(PER_MINUTE))
    assert asked == len(Urgency.ASK.value)
    assert not mine.is_open(Urgency.TELL)
    acted = sum(budget.enter(Urgency.ACT) for budget in (mine, other) for _ in range(PER_MINUTE))
    assert (asked + acted, mine.is_open(Urgency.ACT)) == (PER_MINUTE, False)
    assert Budget(sqlite_engine, "another").enter(Urgency.TELL)
