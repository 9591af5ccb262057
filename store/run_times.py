"""How long runs ran: of each attempt from its start to its end, without what lies between attempts.

The moments of two attempts may be hours apart although nothing ran, as while the service is off; and a clock that is
set meanwhile makes their difference any number. So no duration is the difference of a run's two moments.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from contract.lifecycle.state import State
from store.tables.base import now
from store.tables.runs import Job, Run


class Attempt(NamedTuple):
    """The times of an attempt that has been submitted."""

    submitted_at: datetime
    started_at: datetime | None
    ran_s: float | None
    ended_at: datetime | None
    is_running: bool  # it is its run's current one, and the run runs

    @property
    def seconds(self) -> float | None:
        """Return for how long it ran, so far; 0 before its start, None if that is not known."""
        if self.started_at is None:
            return 0.0
        return since(self.started_at) if self.is_running else self.ran_s

    @property
    def start_s(self) -> float:
        """Return how long it took from the submission to the start, or to the end of an attempt without a start."""
        until = self.started_at or self.ended_at
        return since(self.submitted_at) if until is None else max(0.0, (until - self.submitted_at).total_seconds())


def since(moment: datetime) -> float:
    """Return the seconds since a moment; 0 if the clock was set back behind it."""
    return max(0.0, (now() - moment).total_seconds())


def sum_of(jobs: Iterable[Job]) -> float | None:
    """Return for how long the ended attempts of a run ran; None without any, or if that of one is not known."""
    ended = [job for job in jobs if job.started_at and (job.exit_cause or job.ran_s is not None)]
    known = [job.ran_s for job in ended if job.ran_s is not None]
    return sum(known) if ended and len(known) == len(ended) else None


def attempts(db: Session, group: Any, *which: ColumnElement[bool]) -> dict[Any, list[Attempt]]:
    """Return the attempts of the runs for which `which` holds, by the column `group` of runs."""
    is_running = (Job.id == Run.current_job_id) & (Run.state == State.RUNNING)
    columns = (Job.lease_renewed_at, Job.started_at, Job.ran_s, Job.ended_at, is_running)
    query = select(group, *columns).join(Run, Run.id == Job.run_id).where(*which, Job.external_id.is_not(None))
    found: dict[Hashable, list[Attempt]] = defaultdict(list)
    for key, *times in db.execute(query):
        found[key].append(Attempt(*times))
    return found


def busy_seconds(several: Sequence[Attempt], *, with_start: bool = False) -> float | None:
    """Return for how long at least one of the attempts ran, or with `with_start` had been submitted as well.

    None if that is not known of one of them.
    """
    spans = []
    for one in several:
        if (seconds := one.seconds) is None:
            return None
        first = one.submitted_at if with_start else one.started_at or one.submitted_at
        length_s = seconds + (one.start_s if with_start else 0.0)
        spans.append((first, first + timedelta(seconds=length_s)))
    total, until = timedelta(0), None
    for begin, end in sorted(spans):
        begin = begin if until is None else max(begin, until)
        total += max(timedelta(0), end - begin)
        until = end if until is None else max(until, end)
    return total.total_seconds()
