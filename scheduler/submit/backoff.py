"""How long runs wait whose submission came to nothing: longer each time in a row, and no number of times ends them.

A cluster that is full, slow or away gets well again, and so does a folder that cannot be written to; what never does
stands on the run's page, and whoever reads it may stop the run.
"""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from store import submissions as launches
from store.tables import Run, now

LOST = "its submission was lost"
SOUGHT = "; whether it has the job is being found out"
STEP, LONGEST = timedelta(seconds=5), timedelta(minutes=10)


def wait_until(db: Session, run: Run, least: timedelta = timedelta(0)) -> datetime:
    """When it may be tried again: after `least` the first time, then 5, 15, 35 s later and so on, up to ten minutes."""
    more: timedelta = STEP * ((1 << min(launches.returns(db, run.id), 10)) - 1)
    return now() + min(least + more, LONGEST)
