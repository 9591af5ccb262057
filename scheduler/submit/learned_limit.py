"""The learned limit of a queue: how many jobs of this service a cluster admits, by what it accepted and refused.

The limit lies between the largest number that was accepted and the smallest that was refused. Other jobs of the user
count in the cluster as well and are not known here, so a bound can become wrong: a refusal below the largest accepted
number is tried again once, because an ended job leaves the cluster late, and then believed; from time to time one
submission exceeds the bound. All functions are pure but for the row that they change.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from store.submissions import LiveJobs
from store.tables.clusters import SubmitLimit

# at least so long between two submissions that fill a queue up to its limit: the calls of a minute are few. A queue
# that is half empty is filled sooner, for such a call is well used; one of which a fifth is free, while many calls are
PACE, SHORT_PACE = timedelta(seconds=10), timedelta(seconds=3.75)
PROBE_AFTER = timedelta(minutes=3)  # after a refusal, until a submission may exceed the bound
FIRST_HOLD, LONGEST_HOLD = timedelta(seconds=5), timedelta(minutes=5)  # after refusals below the bound
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(minutes=10)  # while the queue accepts no job at all
# a job may be in the cluster for so long after its run has ended: tried once the limit is known, and to be safe
LEAVES_SOON_S, LEAVES_LATE_S = 1.0, 3.0
SPARE_CALLS = 1  # of a minute; beside them a number between the bounds may be tried
MANY_CALLS = 8
FIRST_SHARE = 4  # of a refused number of jobs, the share to try while no job is in the cluster
NARROW = 10  # the bounds are narrow if they differ by at most one part in so many


def admitted(limit: SubmitLimit, at: datetime, *, has_calls: bool) -> int | None:
    """Return how many jobs may be in the cluster at once; None without a known limit.

    Between bounds that are not narrow, the middle is tried: always if the upper one is more than twice the lower one,
    else if calls are free, or some time after a refusal.
    """
    low, high = limit.accepted, limit.refused
    if high is None:
        return None if low == 0 else 2 * low
    is_due = limit.probe_at is None or at >= limit.probe_at
    if low == 0 and high > 1:
        return max(1, high // FIRST_SHARE)
    if _is_open(limit):
        is_far = 2 * low < high - 1
        return (low + high) // 2 if is_far or has_calls or is_due else low
    return low + max(1, low // NARROW) if is_due else low


def leaves_within(limits: Collection[SubmitLimit]) -> timedelta:
    """Return for how long a job of a cluster counts after its run has ended, by the limits of all its queues."""
    seconds = [LEAVES_LATE_S if _is_open(limit) else LEAVES_SOON_S for limit in limits if limit.leaves_s is None]
    known = [limit.leaves_s for limit in limits if limit.leaves_s is not None]
    return timedelta(seconds=max([*seconds, *known], default=LEAVES_LATE_S))


def _is_open(limit: SubmitLimit) -> bool:
    """Return whether the limit is not known yet: its bounds are far apart."""
    return limit.refused is None or limit.refused - 1 - limit.accepted > limit.accepted // NARROW


def room(
    limit: SubmitLimit | None,
    live: LiveJobs,
    wanted: int,
    at: datetime,
    *,
    has_calls: bool,
    has_many_calls: bool = False,
) -> int:
    """Return how many of `wanted` jobs may be submitted now."""
    if limit is None:
        return wanted
    if limit.held_until is not None and at < limit.held_until:
        return 0
    most = admitted(limit, at, has_calls=has_calls)
    if most is None or most - live.most >= wanted:
        return wanted
    free = max(0, most - live.most)
    pace = SHORT_PACE if (5 if has_many_calls else 2) * free >= most else PACE
    is_paced = limit.accepted_at is not None and limit.accepted_at <= at < limit.accepted_at + pace
    return 0 if is_paced else free


def record_refusal(limit: SubmitLimit, live: LiveJobs, size: int, at: datetime, message: str) -> None:
    """Store that `size` jobs were refused, beside the jobs `live`, because the cluster admits no more."""
    # the refusal before may have been one above the bound, which says nothing of jobs that leave late
    total, is_first = live.most + size, limit.held_until is None
    limit.refusals, limit.message = limit.refusals + 1, message
    if total > limit.accepted:
        limit.accepted = max(limit.accepted, live.accepted)
        limit.refused = min(limit.refused or total, total)
    else:
        limit.held_until = at + _wait(FIRST_HOLD, limit.refusals, LONGEST_HOLD)
        limit.leaves_s = LEAVES_LATE_S  # perhaps jobs leave this cluster late
        if not is_first:
            limit.accepted, limit.refused = live.accepted, total
    is_none_admitted = limit.refused == 1
    limit.probe_at = at + (_wait(FIRST_HOLD, limit.refusals, LONGEST_HOLD) if is_none_admitted else PROBE_AFTER)


def record_pause(limit: SubmitLimit, at: datetime, message: str) -> None:
    """Store that the queue accepts no job for now, whatever their number."""
    limit.refusals, limit.message = limit.refusals + 1, message
    limit.held_until = at + _wait(FIRST_PAUSE, limit.refusals, LONGEST_PAUSE)


def record_acceptance(limit: SubmitLimit, live: LiveJobs, size: int, at: datetime) -> None:
    """Store that `size` jobs were accepted, beside the jobs `live`."""
    total = live.accepted + size
    limit.refusals, limit.held_until, limit.accepted_at = 0, None, at
    if limit.refused is not None and total >= limit.refused:
        limit.refused = None  # the cluster admits more than before
    if limit.refused is not None or limit.accepted:
        limit.accepted = max(limit.accepted, total)


def _wait(first: timedelta, refusals: int, longest: timedelta) -> timedelta:
    """Return the wait after so many refusals in a row; it doubles."""
    doubled: timedelta = first * (1 << min(refusals - 1, 10))
    return min(doubled, longest)
