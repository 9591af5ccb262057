"""Reading of a search: its trials, the states of their runs, and the values at comparisons that they have reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.lifecycle.reason import StopSource
from contract.lifecycle.state import State
from contract.lifecycle.trial import GOING_ON
from contract.spec.any_run import read_run
from contract.spec.search.checks import last_resource
from contract.spec.search.early_stopping import NoStopping, brackets_of, rungs_of
from contract.spec.search.search import SearchSpec
from scheduler.search.curve import Curve, Reached, axis_of, value_at
from scheduler.search.view import SearchView, TrialRun, TrialView
from store.metrics import curves
from store.search import searches, usage
from store.tables.experiments import Experiment
from store.tables.points import Figure
from store.tables.runs import Run
from store.tables.searches import Search, Trial

MAX_VALUES = 1_000_000  # of a curve, for one comparison


class StoredRun(NamedTuple):
    """The columns of a trial's run."""

    id: int
    number: int
    state: State
    stop_source: StopSource | None
    latest: Mapping[str, float | None]
    step: int
    world: int


class Value(NamedTuple):
    """The figures of a run's metric."""

    last: float | None
    least: float | None
    most: float | None
    last_step: int


@dataclass(frozen=True)
class StoredSearch:
    """A search as it was read, and what the decision on it needs."""

    id: int
    version: int
    row: Search
    trials: Sequence[Trial]
    view: SearchView


def read_search(db: Session, search_id: int) -> StoredSearch | None:
    """Return a search that has not ended, with all that is known of its trials."""
    row = db.get(Search, search_id)
    if row is None or row.ended_at is not None:
        return None
    spec, trials = SearchSpec.model_validate(row.spec), searches.trials_of(db, search_id)
    base = read_run(db.get_one(Experiment, row.experiment_id).spec["base"])
    last = last_resource(spec, base)
    rungs = [rungs_of(spec.early_stopping, last, bracket) for bracket in range(brackets_of(spec.early_stopping, last))]
    by_number = _runs(db, row, [trial for trial in trials if trial.status in GOING_ON])
    values = _values(db, spec.metric, [run.id for run in by_number.values()])
    reader = _Reader(db, spec, rungs, by_number, values)
    view = SearchView(
        spec,
        row.trials,
        rungs,
        [reader.view_of(trial) for trial in trials],
        is_paused=row.paused_at is not None,
        is_stopped=row.stop_requested_at is not None,
        is_spent=_is_spent(db, spec, row),
    )
    return StoredSearch(row.id, row.version, row, trials, view)


def _runs(db: Session, search: Search, trials: Sequence[Trial]) -> dict[int, StoredRun]:
    """Return the runs of trials that go on, by their number in the experiment."""
    numbers = [trial.first_run + index for trial in trials for index in range(trial.runs)]
    columns = (Run.id, Run.number, Run.state, Run.stop_source, Run.latest, Run.step, Run.world)
    query = select(*columns).where(Run.experiment_id == search.experiment_id, Run.number.in_(numbers))
    return {row.number: StoredRun._make(row) for row in db.execute(query.where(Run.deleted_at.is_(None)))}


def _values(db: Session, metric: str, run_ids: Sequence[int]) -> dict[int, Value]:
    columns = (Figure.run_id, Figure.last, Figure.least, Figure.most, Figure.last_step)
    query = select(*columns).where(Figure.name == metric, Figure.run_id.in_(run_ids))
    return {row[0]: Value(*row[1:]) for row in db.execute(query)}


def _is_spent(db: Session, spec: SearchSpec, search: Search) -> bool:
    if spec.budget is None:
        return False
    return sum(usage.rank_seconds(db, search.experiment_id).values()) >= 3600 * spec.budget.rank_hours


@dataclass(frozen=True)
class _Reader:
    db: Session
    spec: SearchSpec
    rungs: Sequence[Sequence[float]]
    runs: Mapping[int, StoredRun]
    values: Mapping[int, Value]

    def view_of(self, trial: Trial) -> TrialView:
        """Return a trial with its runs, and the values at the comparisons that it has reached since."""
        numbers = range(trial.first_run, trial.first_run + trial.runs)
        own = [self.runs[number] for number in numbers if number in self.runs]
        return TrialView(
            trial.number,
            trial.status,
            tuple(trial.rungs),
            trial.bracket,
            tuple(TrialRun(run.state, run.stop_source) for run in own),
            tuple(self._new_rungs(trial, own)) if own else (),
            self._joint([self._value(run) for run in own]) if own else None,
        )

    def _value(self, run: StoredRun) -> float | None:
        """Return the value of a run's curve by now; None if its newest value is not finite, or it has none."""
        value = self.values.get(run.id)
        if value is None or value.last is None:
            return None
        best = value.most if self.spec.maximizes else value.least
        return best if self.spec.value == "best" else value.last

    def _new_rungs(self, trial: Trial, own: Sequence[StoredRun]) -> list[float | None]:
        resources = self.rungs[trial.bracket][len(trial.rungs) :]
        found: list[float | None] = []
        if not resources or not all(self._has_reached(run, self._of_run(run, resources[0])) for run in own):
            return found
        read = [self._curves(run) for run in own]
        for resource in resources:
            pairs = zip(own, read, strict=True)
            reached = [self._at(metric, axis, self._of_run(run, resource)) for run, (metric, axis) in pairs]
            values = [one.value for one in reached if one is not None]
            if len(values) < len(own):
                break
            found.append(self._joint(values))
        return found

    def _of_run(self, run: StoredRun, resource: float) -> float:
        """Return the resource of a run as its series has it: of rank seconds the seconds."""
        rule = self.spec.early_stopping
        is_shared = not isinstance(rule, NoStopping) and rule.unit == "rank_seconds"
        return resource / run.world if is_shared else resource

    def _has_reached(self, run: StoredRun, resource: float) -> bool:
        """Return whether a run has got so far, without reading its curve."""
        rule, value = self.spec.early_stopping, self.values.get(run.id)
        if value is None or isinstance(rule, NoStopping):
            return False
        axis = axis_of(rule.unit)
        newest = value.last_step if axis is None else run.latest.get(axis)
        return newest is not None and newest >= resource - 1e-6

    def _curves(self, run: StoredRun) -> tuple[Curve, Curve | None]:
        rule = self.spec.early_stopping
        axis = None if isinstance(rule, NoStopping) else axis_of(rule.unit)
        names = [self.spec.metric, *([axis] if axis else [])]
        columns, _ = curves.of_run(self.db, run.id, names, after=-1, limit=MAX_VALUES)
        return Curve(*columns[self.spec.metric]), Curve(*columns[axis]) if axis else None

    def _joint(self, values: Sequence[float | None]) -> float | None:
        repeats = self.spec.repeats
        return _combined(values, repeats.combine if repeats else "mean", maximizes=self.spec.maximizes)

    def _at(self, metric: Curve, axis: Curve | None, resource: float) -> Reached | None:
        return value_at(metric, axis, resource, best=self.spec.value == "best", maximizes=self.spec.maximizes)


def _combined(values: Sequence[float | None], how: str, *, maximizes: bool) -> float | None:
    """Return the value of a trial from those of its runs; None if one is missing: then the trial diverges."""
    finite = [value for value in values if value is not None]
    if len(finite) < len(values):
        return None
    if how == "worst":
        return min(finite) if maximizes else max(finite)
    return median(finite) if how == "median" else fmean(finite)
