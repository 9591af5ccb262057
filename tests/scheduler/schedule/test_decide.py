"""Which starts are due: after clock changes, jumps of the clock, and times in which nothing ran."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from contract.lifecycle.schedule import Missed
from scheduler.schedule.decide import MOST_AT_ONCE, due_starts
from study.moments import check_cron, moments_after

BERLIN = ZoneInfo("Europe/Berlin")
DAY = timedelta(days=1)


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def test_a_start_on_time_is_carried_out_and_the_next_one_follows() -> None:
    for missed in Missed:
        due = due_starts("0 2 * * *", "UTC", missed, utc(2026, 5, 1, 2), utc(2026, 5, 1, 2, 0, 1))
        assert (due.starts, due.skipped, due.next_at) == ([utc(2026, 5, 1, 2)], 0, utc(2026, 5, 2, 2))


@pytest.mark.parametrize(
    ("missed", "starts", "skipped"),
    [
        (Missed.RUN_ONCE, [utc(2026, 5, 3, 2)], 2),
        (Missed.SKIP, [], 3),
        (Missed.RUN_ALL, [utc(2026, 5, day, 2) for day in (1, 2, 3)], 0),
    ],
)
def test_missed_starts_are_made_up_for_as_the_rule_says(missed: Missed, starts: list[datetime], skipped: int) -> None:
    due = due_starts("0 2 * * *", "UTC", missed, utc(2026, 5, 1, 2), utc(2026, 5, 3, 12))
    assert (due.starts, due.skipped) == (starts, skipped)
    assert due.next_at == utc(2026, 5, 4, 2)


def test_a_backlog_is_made_up_for_a_few_at_a_time_without_a_gap() -> None:
    next_at: datetime | None = utc(2026, 5, 1)
    present, made = utc(2026, 5, 1, 1), []
    while next_at is not None and next_at <= present:
        due = due_starts("* * * * *", "UTC", Missed.RUN_ALL, next_at, present)
        assert len(due.starts) <= MOST_AT_ONCE
        made += due.starts
        next_at = due.next_at
    assert made == [utc(2026, 5, 1) + timedelta(minutes=n) for n in range(61)]


def test_a_year_without_the_service_costs_no_more_than_two_days() -> None:
    due = due_starts("* * * * *", "UTC", Missed.RUN_ONCE, utc(2025, 5, 1), utc(2026, 5, 1, 0, 0, 30))
    assert due.starts == [utc(2026, 5, 1)]
    assert due.next_at == utc(2026, 5, 1, 0, 1)
    assert due.skipped < 3_000


def test_a_rare_start_that_was_missed_long_ago_is_made_up_for_once() -> None:
    due = due_starts("0 0 1 1 *", "UTC", Missed.RUN_ONCE, utc(2026, 1, 1), utc(2026, 8, 1))
    assert (due.starts, due.next_at) == ([utc(2026, 1, 1)], utc(2027, 1, 1))


def test_a_time_that_the_spring_leaves_out_counts_at_the_end_of_the_gap() -> None:
    moments = moments_after("30 2 * * *", "Europe/Berlin", datetime(2026, 3, 28, 12, tzinfo=BERLIN))
    assert [next(moments) for _ in range(2)] == [utc(2026, 3, 29, 1), utc(2026, 3, 30, 0, 30)]


def test_a_time_that_the_autumn_repeats_counts_once() -> None:
    moments = moments_after("30 2 * * *", "Europe/Berlin", datetime(2026, 10, 24, 12, tzinfo=BERLIN))
    assert [next(moments) for _ in range(2)] == [utc(2026, 10, 25, 0, 30), utc(2026, 10, 26, 1, 30)]


def test_each_hour_of_a_day_with_a_clock_change_has_its_start() -> None:
    moments = moments_after("0 * * * *", "Europe/Berlin", datetime(2026, 10, 24, 23, 30, tzinfo=BERLIN))
    found = [next(moments) for _ in range(5)]
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(hours=1)}


@pytest.mark.parametrize("present", [utc(2026, 10, 25, 0, 30, 5), utc(2026, 10, 25, 1, 30, 5)])
def test_the_repeated_hour_starts_nothing_twice(present: datetime) -> None:
    due = due_starts("30 2 * * *", "Europe/Berlin", Missed.RUN_ALL, utc(2026, 10, 25, 0, 30), present)
    assert due.starts == [utc(2026, 10, 25, 0, 30)]


@pytest.mark.parametrize(
    ("cron", "zone", "message"),
    [
        ("0 2 * *", "UTC", "five fields"),
        ("61 * * * *", "UTC", "five fields"),
        ("0 0 30 2 *", "UTC", "five fields"),
        ("0 2 * * *", "Mars/Base", "no time zone"),
        ("0 2 * * *", "../etc/passwd", "no time zone"),
        ("x" * 200, "UTC", "five fields"),
    ],
)
def test_what_has_no_moment_is_refused(cron: str, zone: str, message: str) -> None:
    found = check_cron(cron, zone)
    assert found is not None
    assert message in found
