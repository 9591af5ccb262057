"""What the runs of an experiment have used: the time of their jobs, times their ranks."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from store import run_times
from store.run_times import Attempt
from store.tables.runs import Run


def rank_seconds(db: Session, experiment_id: int, numbers: Sequence[int] | None = None) -> dict[int, float]:
    """Return the rank-seconds of each run that began, by its number in the experiment; of all without `numbers`.

    An attempt whose time is not known counts nothing.
    """
    mine = [Run.experiment_id == experiment_id]
    mine += [] if numbers is None else [Run.number.in_(numbers)]
    runs = {row.number: row for row in db.execute(select(Run.number, Run.world, Run.cluster).where(*mine))}
    found = run_times.attempts(db, Run.number, *mine)
    return {
        number: runs[number].world * sum(_busy_s(one, is_local=runs[number].cluster == "local") for one in several)
        for number, several in found.items()
    }


def _busy_s(one: Attempt, *, is_local: bool) -> float:
    """Return for how long an attempt had its ranks: a job of this machine from its submission on."""
    return (one.seconds or 0.0) + (one.start_s if is_local else 0.0)  # a wait in a cluster's queue uses none
