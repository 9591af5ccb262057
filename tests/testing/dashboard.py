"""The dashboard as tests see it, and how far a curve may be behind its run."""

from dataclasses import dataclass

from sqlalchemy import Engine

from store.session import transaction
from store.tables import Run
from tests.testing.seed_dashboard import grow

LATEST_S = 3.0  # how far a curve may be behind its trainer
TRIES = 12  # a machine may be somebody else's for a while: in one of so many it must hold all the time

# the newest step of the loss chart, as its crosshair tells it
NEWEST = "() => Number(document.querySelector('[role=slider][aria-label^=\"Loss\"]')?.getAttribute('aria-valuemax'))"


@dataclass(frozen=True)
class Dashboard:
    """The address of the service, the rows in it, and a hand on a run that trains."""

    url: str
    ids: dict[str, int]
    engine: Engine
    token: str

    def grow(self, run_id: int, steps: int) -> int:
        """Let a run take `steps` more steps; return the last one."""
        with transaction(self.engine) as db:
            run = db.get_one(Run, run_id)
            grow(db, run, run.step + steps)
            return run.step
