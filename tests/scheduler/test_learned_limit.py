"""The learned limit of a queue: a table of limits and what may be submitted, and whole sweeps under a limit."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scheduler.submit.learned_limit import (
    LEAVES_LATE_S,
    LEAVES_SOON_S,
    PACE,
    PROBE_AFTER,
    SHORT_PACE,
    admitted,
    leaves_within,
    record_acceptance,
    record_pause,
    record_refusal,
    room,
)
from store.submissions import LiveJobs
from store.tables.clusters import SubmitLimit

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
SOON, LATER = AT + timedelta(seconds=1), AT + PROBE_AFTER


def limit_of(accepted: int = 0, refused: int | None = None, **columns: Any) -> SubmitLimit:
    columns = {"refusals": 0, "held_until": None, "probe_at": LATER, "accepted_at": None, "message": ""} | columns
    return SubmitLimit(cluster="slurm", queue="", accepted=accepted, refused=refused, **columns)


@pytest.mark.parametrize(
    ("accepted", "refused", "without_calls", "with_calls", "later"),
    [
        (0, None, None, None, None),  # no limit is known
        (0, 150, 37, 37, 37),  # no job is in the cluster: a quarter of what was refused
        (0, 3, 1, 1, 1),
        (0, 1, 0, 0, 1),  # other jobs fill the limit: one job, from time to time
        (2, 9, 5, 5, 5),  # far apart: the middle
        (5, 9, 5, 7, 7),  # the middle, where calls are free or the last refusal is long ago
        (5, 7, 5, 6, 6),
        (5, 6, 5, 5, 6),  # the limit is known; it may have risen
        (100, 111, 100, 100, 110),  # as exact as a tenth
        (100, 112, 100, 106, 106),
        (8, None, 16, 16, 16),  # more was accepted than was refused before
        (1, None, 2, 2, 2),
    ],
)
def test_the_number_of_jobs_to_try_follows_from_both_bounds(
    accepted: int, refused: int | None, without_calls: int | None, with_calls: int | None, later: int | None
) -> None:
    limit = limit_of(accepted, refused)
    assert admitted(limit, SOON, has_calls=False) == without_calls
    assert admitted(limit, SOON, has_calls=True) == with_calls
    assert admitted(limit, LATER, has_calls=False) == later


@pytest.mark.parametrize(
    ("limit", "live", "wanted", "free"),
    [
        (None, LiveJobs(7), 150, 150),
        (limit_of(5, 6), LiveJobs(), 150, 5),
        (limit_of(5, 6), LiveJobs(accepted=2, submitting=1, leaving=1), 150, 1),
        (limit_of(5, 6), LiveJobs(5), 150, 0),
        (limit_of(5, 6), LiveJobs(9), 150, 0),
        (limit_of(5, 6), LiveJobs(2), 2, 2),
        # submissions that the limit makes small are spread over the minute; one that it leaves whole is not
        (limit_of(5, 6, accepted_at=AT), LiveJobs(2), 150, 0),
        (limit_of(5, 6, accepted_at=AT), LiveJobs(2), 2, 2),
        (limit_of(5, 6, accepted_at=SOON - SHORT_PACE), LiveJobs(2), 150, 3),  # half empty: filled sooner
        (limit_of(5, 6, accepted_at=SOON - SHORT_PACE), LiveJobs(3), 150, 0),
        (limit_of(5, 6, accepted_at=SOON - PACE), LiveJobs(2), 150, 3),
        (limit_of(5, 6, accepted_at=AT.replace(year=2100)), LiveJobs(2), 150, 3),  # a clock was set back
        (limit_of(5, 6, held_until=SOON + PACE), LiveJobs(), 1, 0),
        (limit_of(0, None, held_until=AT), LiveJobs(), 150, 150),  # a pause that is over
    ],
)
def test_the_room_is_what_the_limit_leaves(limit: SubmitLimit | None, live: LiveJobs, wanted: int, free: int) -> None:
    assert room(limit, live, wanted, SOON, has_calls=False) == free


def test_a_queue_of_which_a_fifth_is_free_is_filled_sooner_while_many_calls_are_free() -> None:
    limit = limit_of(5, 6, accepted_at=SOON - SHORT_PACE)
    assert room(limit, LiveJobs(4), 150, SOON, has_calls=True) == 0
    assert room(limit, LiveJobs(4), 150, SOON, has_calls=True, has_many_calls=True) == 1


@pytest.mark.parametrize(
    ("before", "live", "size", "after"),
    [
        (limit_of(), LiveJobs(), 150, (0, 150, False)),
        (limit_of(), LiveJobs(3), 150, (3, 153, False)),  # the three jobs are in the cluster
        (limit_of(5, 9), LiveJobs(5), 2, (5, 7, False)),
        (limit_of(5, 9), LiveJobs(accepted=4, submitting=1, leaving=1), 1, (5, 7, False)),
        (limit_of(5, 6), LiveJobs(5), 1, (5, 6, False)),  # a probe
        (limit_of(5, 6), LiveJobs(3), 2, (5, 6, True)),  # once: a job may leave late
        (limit_of(5, 6, refusals=1), LiveJobs(3), 2, (5, 6, True)),  # the one before was a probe
        (limit_of(5, 6, refusals=1, held_until=AT), LiveJobs(3), 2, (3, 5, True)),  # again: other jobs count too
        (limit_of(5, 6, refusals=1, held_until=AT), LiveJobs(), 1, (0, 1, True)),
    ],
)
def test_a_refusal_narrows_the_bounds_and_one_below_them_is_believed_the_second_time(
    before: SubmitLimit, live: LiveJobs, size: int, after: tuple[int, int | None, bool]
) -> None:
    record_refusal(before, live, size, AT, "QOSMaxSubmitJobPerUserLimit")
    assert (before.accepted, before.refused, before.held_until is not None) == after
    assert before.message == "QOSMaxSubmitJobPerUserLimit"


def test_holds_and_pauses_double_and_an_accepted_submission_ends_them() -> None:
    limit = limit_of(5, 6)
    for seconds in (5, 10, 20, 40, 80, 160, 300, 300):
        record_refusal(limit, LiveJobs(), 1, AT, "full")
        assert limit.accepted <= 5
        limit.accepted = 5
        assert limit.held_until == AT + timedelta(seconds=seconds)
    record_acceptance(limit, LiveJobs(), 1, AT)
    assert (limit.refusals, limit.held_until, limit.accepted_at) == (0, None, AT)
    for seconds in (30, 60, 120, 240, 480, 600, 600):
        record_pause(limit, AT, "submissions disabled")
        assert limit.held_until == AT + timedelta(seconds=seconds)


def test_a_job_counts_for_longer_until_the_limit_is_known_and_where_jobs_leave_late() -> None:
    assert leaves_within([limit_of(2, 9)]) == timedelta(seconds=LEAVES_LATE_S), "the limit is searched for"
    known = limit_of(5, 6)
    assert leaves_within([known]) == timedelta(seconds=LEAVES_SOON_S)
    record_refusal(known, LiveJobs(3), 2, AT, "a job has not left")
    assert leaves_within([known, limit_of(5, 6)]) == timedelta(seconds=LEAVES_LATE_S)


def test_a_pause_teaches_no_limit() -> None:
    limit = limit_of()
    record_pause(limit, AT, "submissions disabled")
    record_acceptance(limit, LiveJobs(), 20, AT)
    assert admitted(limit, AT, has_calls=False) is None


class Queue:
    """A cluster that admits `limit` jobs at once, of which `others` are not this service's; each lasts `lasts_s`."""

    def __init__(self, limit: int, *, lasts_s: float = 30.0) -> None:
        self.limit, self.lasts_s, self.others, self.seconds = limit, lasts_s, 0, 0
        self.ends: list[float] = []
        self.refused = self.calls = 0
        self.sizes: list[int] = []

    def submit(self, at: float, size: int) -> bool:
        self.calls += 1
        if len(self.ends) + self.others + size > self.limit:
            self.refused += 1
            return False
        self.ends += [at + self.lasts_s] * size
        self.sizes.append(size)
        return True


def sweep(queue: Queue, runs: int, seconds: int, limit: SubmitLimit | None = None) -> tuple[float, SubmitLimit | None]:
    """Submit as the scheduler does, six calls a minute, two looks a second; return the used share and the limit.

    The share is of what the limit leaves beside other jobs, from the first accepted job until no run waits.
    """
    waiting, used, available, calls = runs, 0, 0, list[float]()
    began, queue.seconds = queue.seconds, queue.seconds + seconds  # a queue's sweeps follow each other
    for half in range(2 * seconds):
        at = began + half / 2
        queue.ends = [end for end in queue.ends if end > at]
        live, moment = LiveJobs(len(queue.ends)), AT + timedelta(seconds=at)
        calls = [call for call in calls if call > at - 60]
        size = min(waiting, room(limit, live, waiting, moment, has_calls=len(calls) < 5)) if len(calls) < 6 else 0
        if size > 0:
            calls.append(at)
            if queue.submit(at, size):
                waiting -= size
                if limit:
                    record_acceptance(limit, live, size, moment)
            else:
                limit = limit or limit_of()
                record_refusal(limit, live, size, moment, "full")
        if waiting and queue.sizes:
            used, available = used + len(queue.ends), available + queue.limit - queue.others
    assert not waiting, f"{waiting} of {runs} runs still wait after {seconds} s"
    return used / available, limit


@pytest.mark.parametrize(
    ("admits", "lasts_s"), [(1, 60.0), (5, 60.0), (5, 120.0), (20, 60.0), (100, 60.0), (777, 90.0)]
)
def test_a_sweep_finds_the_limit_by_few_refusals_and_then_uses_it(admits: int, lasts_s: float) -> None:
    queue = Queue(admits, lasts_s=lasts_s)
    share, limit = sweep(queue, admits * 30, int(60 * lasts_s))
    assert share > 0.8, (share, queue.refused, queue.calls)
    assert limit
    assert 0.89 * admits <= limit.accepted <= admits
    minutes = 30 * lasts_s / 60 / share
    assert queue.refused <= 8 + minutes / 3 + 1, "a probe each three minutes, and the search"


def test_the_limit_follows_other_jobs_of_the_user_down_and_up_again() -> None:
    queue = Queue(20, lasts_s=60.0)
    _, limit = sweep(queue, 200, 1500)
    assert limit
    assert limit.accepted >= 18
    queue.others = 15
    share, limit = sweep(queue, 60, 1800, limit)
    assert share > 0.7, "of the five that the other jobs leave"
    assert limit
    assert 4 <= limit.accepted <= 5
    queue.others = 0
    _, limit = sweep(queue, 400, 3600, limit)
    assert limit
    assert limit.accepted >= 18


def test_a_sweep_goes_on_when_a_limit_of_none_ends() -> None:
    queue = Queue(5)
    queue.others = 5
    limit = limit_of()
    for refusals in range(6):
        record_refusal(limit, LiveJobs(), 1, AT, "full")
        assert limit.refusals == refusals + 1
        assert room(limit, LiveJobs(), 150, SOON, has_calls=True) == 0
    queue.others = 0
    limit.probe_at = AT
    share, _ = sweep(queue, 40, 900, limit)
    assert share > 0.6
