"""GET /experiments/{experiment_id}/steps: the graph of a workflow, why each step waits, and when it will end."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from fastapi import APIRouter
from sqlalchemy.orm import Session

from api.database import Reading
from api.http.statuses import ITEM
from api.parameters import ExperimentId
from api.rows import found_experiment
from api.sentences.step import step_sentence
from contract.api.workflow_steps import StepEdge, StepGraph, StepView
from contract.lifecycle.state import ENDED
from contract.lifecycle.step import OPEN_STEPS, StepState
from contract.spec.steps.step import StepSpec
from store.steps import durations
from store.steps.durations import Done
from store.steps.progress import StepProgress, of_experiment
from store.tables.base import now
from store.tables.experiments import Experiment
from study.critical_path import Schedule, TimedStep, schedule

router = APIRouter(prefix="/experiments", tags=["experiments"])


class _Timed(NamedTuple):
    """A step with its progress and its duration, measured or expected."""

    row: StepProgress
    progress: float
    duration_s: float | None


@router.get("/{experiment_id:id}/steps", responses=ITEM)
def get_steps(experiment_id: ExperimentId, db: Reading) -> StepGraph:
    """Return the steps of a workflow as a graph; an experiment without steps has none."""
    experiment = found_experiment(db, experiment_id)
    rows = of_experiment(db, experiment_id)
    if not rows:
        return StepGraph(steps=[], edges=[], predicted_end=None)
    specs = {step["name"]: StepSpec.model_validate(step) for step in experiment.spec["steps"]}
    timed, at = _timed(db, experiment, rows), now()
    plan = schedule(
        [_seconds(one, experiment.created_at) for one in timed], (at - experiment.created_at).total_seconds()
    )
    by_name = {row.name: row for row in rows}
    ends = {name: _moment(experiment.created_at, end) for name, end in plan.ends.items()}
    return StepGraph(
        steps=[_view(one, specs[one.row.name], by_name, plan, ends) for one in timed],
        edges=[edge for row in rows for edge in _edges(row, specs[row.name])],
        predicted_end=_last_end(rows, ends),
    )


def _timed(db: Session, experiment: Experiment, rows: Sequence[StepProgress]) -> list[_Timed]:
    running = durations.training_steps(db, [row.id for row in rows if row.state is StepState.RUNNING])
    took = durations.measured(db, [row.id for row in rows if row.expanded_at is not None])
    before = durations.of_last_time(db, experiment.id, experiment.name)
    found = []
    for row in rows:
        progress = _progress(row, running.get(row.id))
        found.append(_Timed(row, progress, _duration(row, progress, took.get(row.id), before.get(row.name))))
    return found


def _progress(row: StepProgress, done: Done | None) -> float:
    total = sum(row.runs.values())
    if row.state is not StepState.RUNNING:
        return 1.0 if row.state is StepState.DONE else _ended(row) / total if total else 0.0
    if done and done.steps:
        return min(1.0, done.step / done.steps)
    return _ended(row) / total if total else 0.0


def _ended(row: StepProgress) -> int:
    return sum(count for state, count in row.runs.items() if state in ENDED)


def _duration(row: StepProgress, progress: float, took: float | None, last_time: float | None) -> float | None:
    """Return the seconds of a step: measured, by its progress, or as the last time."""
    if row.expanded_at is None:
        return last_time if row.state is StepState.WAITING else None
    if row.ended_at is not None:
        return took
    if took is None:
        return last_time
    if progress > 0.02:  # an earlier estimate is mostly the wait for the start
        return took / progress
    return None if last_time is None else max(last_time, took)


def _seconds(one: _Timed, since: datetime) -> TimedStep:
    row = one.row
    begun, ended = (
        None if moment is None else (moment - since).total_seconds() for moment in (row.expanded_at, row.ended_at)
    )
    has_runs = row.expanded_at is not None or row.state is StepState.WAITING
    return TimedStep(row.name, row.needs, begun, ended, one.duration_s, has_runs)


def _moment(since: datetime, seconds: float | None) -> datetime | None:
    return None if seconds is None else since + timedelta(seconds=seconds)


def _view(
    one: _Timed,
    spec: StepSpec,
    rows: Mapping[str, StepProgress],
    plan: Schedule,
    ends: Mapping[str, datetime | None],
) -> StepView:
    row = one.row
    return StepView(
        id=row.id,
        name=row.name,
        state=row.state,
        reason=step_sentence(row, rows),
        needs=row.needs,
        on_failure=row.on_failure,
        kind="engine" if spec.is_engine else "program",
        condition=spec.when,
        size=spec.size if row.expanded_at is None else sum(row.runs.values()),
        counts=dict(row.runs),
        progress=one.progress,
        expanded_at=row.expanded_at,
        ended_at=row.ended_at,
        duration_s=one.duration_s,
        is_critical=row.name in plan.critical,
        predicted_end=ends[row.name] if row.state in OPEN_STEPS else None,
    )


def _edges(row: StepProgress, spec: StepSpec) -> list[StepEdge]:
    texts = list(dict.fromkeys((one.step, one.text) for one in spec.references))
    return [
        StepEdge(source=name, target=row.name, references=[text for step, text in texts if step == name])
        for name in row.needs
    ]


def _last_end(rows: Sequence[StepProgress], ends: Mapping[str, datetime | None]) -> datetime | None:
    """Return the last predicted end; None if all steps have ended, or if one of them is not known."""
    going = [ends[row.name] for row in rows if row.state in OPEN_STEPS]
    known = [end for end in going if end is not None]
    return max(known) if going and len(known) == len(going) else None
