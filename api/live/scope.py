"""What a stream follows: experiments with all their runs, single runs, or everything."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from api.rows import found_run, see_experiment
from contract.api.service import ChangedItems, ChangedRun
from contract.folder.run_folder import RunFolder
from store import changes
from store.changes import EXPERIMENT, ChangedRow


class Scope(NamedTuple):
    """The experiments and runs of a stream; without any it follows everything."""

    experiments: frozenset[int] = frozenset()
    runs: frozenset[int] = frozenset()
    folders: frozenset[tuple[int, Path]] = frozenset()  # of `runs`, whose logs are followed

    @property
    def is_everything(self) -> bool:
        """Whether the stream follows everything."""
        return not self.experiments and not self.runs

    @property
    def which(self) -> ColumnElement[bool] | None:
        """The condition for the rows of changes; None for all."""
        return None if self.is_everything else changes.of(self.experiments, self.runs)

    def has(self, row: ChangedRow) -> bool:
        """Return whether the stream follows what changed."""
        return self.is_everything or row.experiment_id in self.experiments or row.run_id in self.runs


def find_scope(db: Session, experiments: Iterable[int], runs: Iterable[int], runs_folder: Path) -> Scope:
    """Return the scope of a request; raise NotFound for an experiment or a run that does not exist."""
    for experiment_id in experiments:
        see_experiment(db, experiment_id)
    found = [found_run(db, run_id) for run_id in runs]
    folders = {(run.id, RunFolder.of(runs_folder, run.id, run.key).path) for run in found}
    return Scope(frozenset(experiments), frozenset(run.id for run in found), frozenset(folders))


def items_of(rows: Iterable[ChangedRow], since: int, mark: str) -> ChangedItems:
    """Return rows that changed from version `since` on as the data of an event with a mark."""
    runs, experiments = [], []
    for row in rows:
        if row.run_id == EXPERIMENT:
            experiments.append(row.experiment_id)
        else:
            runs.append(_run_of(row, since))
    return ChangedItems(runs=runs, experiments=experiments, mark=mark)


def _run_of(row: ChangedRow, since: int) -> ChangedRun:
    return ChangedRun(
        id=row.run_id,
        experiment_id=row.experiment_id,
        state=row.state,
        attempt=row.attempt or 0,
        step=row.step or 0,
        has_points=row.points_version >= max(since, 1),
        has_details=row.details_version >= max(since, 1),
    )
