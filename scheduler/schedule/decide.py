"""Which starts of a schedule are due: a pure decision from its rule, its next moment and the present one."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import NamedTuple

from contract.lifecycle.schedule import Missed
from study.moments import moments_after

LATE = timedelta(seconds=60)  # a start that is later was missed
MOST_AT_ONCE = 20  # starts of a tick; the next one goes on
LOOK_BACK = timedelta(days=2)  # for missed starts that nothing makes up for, which need not all be counted


class Due(NamedTuple):
    """The moments that start, how many others were missed, the last of these, and the schedule's next moment."""

    starts: Sequence[datetime]
    skipped: int
    last_skipped: datetime | None
    next_at: datetime | None


def due_starts(cron: str, zone: str, missed: Missed, next_at: datetime, present: datetime) -> Due:
    """Return what is due; `next_at` is the first moment that was neither started nor skipped."""
    if missed is Missed.RUN_ALL:
        later = takewhile(lambda moment: moment <= present, moments_after(cron, zone, next_at))
        found = [next_at, *(moment for _, moment in zip(range(MOST_AT_ONCE - 1), later, strict=False))]
        return Due(found, 0, None, next(moments_after(cron, zone, found[-1]), None))
    since = max(next_at, present - LOOK_BACK)
    found = [next_at, *takewhile(lambda moment: moment <= present, moments_after(cron, zone, since))]
    following = next(moments_after(cron, zone, max(present, found[-1])), None)
    is_missed = present - found[-1] > LATE
    starts = [] if is_missed and missed is Missed.SKIP else found[-1:]
    skipped = found if not starts else found[:-1]
    return Due(starts, len(skipped), skipped[-1] if skipped else None, following)
