"""Slots of a minute: no more calls than slots, from however many hands, whatever the clock does."""

import threading

import pytest
from sqlalchemy import Engine, update

from store import rate_limit
from store.session import snapshot, transaction
from store.tables.clusters import CallSlot

SLOTS = range(12)


@pytest.fixture
def slots(engine: Engine) -> Engine:
    with transaction(engine) as db:
        rate_limit.make_slots(db, "slurm", 12)
        rate_limit.make_slots(db, "slurm", 12)
    return engine


def test_slots_are_used_in_the_order_in_which_they_are_named(slots: Engine) -> None:
    with transaction(slots) as db:
        assert rate_limit.take_slot(db, "slurm", (3, 9, 1))
        assert (rate_limit.count_free_slots(db, "slurm", (3,)), rate_limit.count_free_slots(db, "slurm", (9, 1))) == (
            0,
            2,
        )
        assert rate_limit.take_slot(db, "slurm", (3, 9, 1))
        assert (rate_limit.count_free_slots(db, "slurm", (9,)), rate_limit.count_free_slots(db, "slurm", (1,))) == (
            0,
            1,
        )


def test_forty_tries_of_four_hands_use_twelve_slots(slots: Engine) -> None:
    """Forces the race: all begin at once."""
    barrier, won = threading.Barrier(4), []

    def go() -> None:
        barrier.wait()
        for _ in range(10):
            with transaction(slots) as db:
                won.append(rate_limit.take_slot(db, "slurm", SLOTS))

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with snapshot(slots) as db:
        assert sum(won) == 12 - rate_limit.count_free_slots(db, "slurm", SLOTS)
    assert sum(won) >= 10, "a hand that loses a race for one slot may try again; most do not"


def test_a_slot_is_free_after_a_minute_and_when_the_clock_was_set_back(slots: Engine) -> None:
    """Forces the fault: a slot was used ten minutes in the future."""
    with transaction(slots) as db:
        assert [rate_limit.take_slot(db, "slurm", range(2)) for _ in range(3)] == [True, True, False]
        db.execute(update(CallSlot).where(CallSlot.slot == 0).values(at=CallSlot.at - 61))
        db.execute(update(CallSlot).where(CallSlot.slot == 1).values(at=CallSlot.at + 600))
        assert [rate_limit.take_slot(db, "slurm", range(2)) for _ in range(3)] == [True, True, False]
        assert rate_limit.count_free_slots(db, "slurm", SLOTS) == 10


def test_a_hand_that_stood_still_after_its_look_at_the_clock_uses_no_slot_again(
    slots: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: all slots are used in the five seconds between its look at the clock and at the slots."""
    clock = rate_limit._clock
    with transaction(slots) as db:
        for _ in SLOTS:
            assert rate_limit.take_slot(db, "slurm", SLOTS)
        monkeypatch.setattr(rate_limit, "_clock", lambda db: clock(db) - 5.0)
        assert not rate_limit.take_slot(db, "slurm", SLOTS)


def test_calls_are_counted_by_command_and_outcome(engine: Engine) -> None:
    with transaction(engine) as db:
        for seconds in (0.5, 1.5):
            rate_limit.count_call(db, "slurm", "squeue", "ok", seconds)
        rate_limit.count_call(db, "slurm", "squeue", "failed", 20.0)
        answer = [(row.command, row.outcome, row.count, row.seconds) for row in rate_limit.call_counts(db)]
    assert answer == [("squeue", "failed", 1, 20.0), ("squeue", "ok", 2, 2.0)]
