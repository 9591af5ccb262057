"""Runs moved along by hand, as the scheduler would."""

from collections.abc import Sequence
from typing import Any

from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from store.metrics import points
from store.session import transaction
from store.tables.runs import Run
from tests.testing.command import Site
from tests.testing.stored_runs import TO_RUNNING
from tests.testing.stored_runs import move as move_row

__all__ = ["TO_RUNNING"]


def move(site: Site, run_id: int, states: Sequence[State], **columns: Any) -> None:
    """Move a run through `states`; the last move carries `columns`."""
    for number, state in enumerate(states, start=1):
        with transaction(site.engine) as db:
            run = db.get_one(Run, run_id)
            move_row(db, run, state, **(columns if number == len(states) else {}))


def measure(site: Site, run_id: int, steps: int, **values: float | None) -> None:
    """Store the same values at steps 1 to `steps`."""
    with transaction(site.engine) as db:
        points.put(db, run_id, [Points(attempt=1, at=0.0, step=step, values=values) for step in range(1, steps + 1)])


def measure_at(site: Site, run_id: int, step: int, **values: float | None) -> None:
    """Store the values at one step."""
    with transaction(site.engine) as db:
        points.put(db, run_id, [Points(attempt=1, at=0.0, step=step, values=values)])


def log_of(site: Site, run_id: int) -> RunFolder:
    """The run's folder, with an empty log."""
    with transaction(site.engine) as db:
        run = db.get_one(Run, run_id)
        folder = RunFolder.of(site.home / "runs", run_id, run.key)
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.log.touch()
    return folder
