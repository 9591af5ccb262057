"""Rows as the views of the contract."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from contract.binding import Bindings
from contract.chosen import Choices
from contract.experiment import ExperimentSpec
from contract.failure import Failure
from contract.run import ENDED, State, joint_state
from contract.spec import RunSpec
from contract.views import (
    AttemptView,
    ExperimentDetail,
    ExperimentView,
    MoveView,
    Page,
    RestartView,
    RunDetail,
    RunView,
)
from store.experiments import Summary
from store.listed import ListedRun
from store.tables import Attempt, Experiment, Move, Restart, Run

PLAIN = RunView.model_fields.keys() - {"stopping", "reason"}  # what a view takes from a row as it is
HEED = timedelta(seconds=60)  # a cluster may take its time to end a job


class Story(NamedTuple):
    """What has happened to a run."""

    moves: Sequence[Move]
    attempts: Sequence[Attempt]
    restarts: Sequence[Restart]
    failure: Failure | None


def run_page(runs: Sequence[ListedRun], following: int | None) -> Page[RunView]:
    # checked all at once: hundreds of models made one by one take longer than reading their rows
    return Page[RunView].model_validate({"items": [_run_fields(run) for run in runs], "next": following})


class Told(NamedTuple):
    """What a run's folder tells."""

    path: Path
    choices: Choices | None
    bindings: Bindings | None


def run_detail(run: Run, story: Story, series: list[str], told: Told) -> RunDetail:
    return RunDetail(
        **_run_fields(run),
        spec=RunSpec.model_validate(run.spec),
        moves=[MoveView.model_validate(move, from_attributes=True) for move in story.moves],
        attempts=[AttemptView.model_validate(attempt, from_attributes=True) for attempt in story.attempts],
        restarts=[RestartView.model_validate(restart, from_attributes=True) for restart in story.restarts],
        failure=story.failure,
        series=series,
        folder=str(told.path),
        choices=told.choices,
        bindings=told.bindings,
    )


def experiment_view(experiment: Experiment, summary: Summary) -> ExperimentView:
    return ExperimentView(**_experiment_fields(experiment, summary))


def experiment_detail(experiment: Experiment, summary: Summary) -> ExperimentDetail:
    return ExperimentDetail(
        **_experiment_fields(experiment, summary), spec=ExperimentSpec.checked_before(experiment.spec)
    )


def _run_fields(run: Run | ListedRun) -> dict[str, Any]:
    stopping = run.stop_wanted_at is not None and State(run.state) not in ENDED
    unheeded = _unheeded(run) if stopping else None
    return {
        **{name: getattr(run, name) for name in PLAIN},
        "reason": unheeded or (run.waits_for if run.state == State.PENDING and run.waits_for else run.reason),
        "stopping": stopping,
    }


def _unheeded(run: Run | ListedRun) -> str | None:
    """A stop that its cluster did not honor, in a sentence; None while it may still."""
    forced = run.stop_forced_at
    if forced is None or run.stop_asked_at is None or datetime.now(UTC) - run.stop_asked_at < HEED:
        return None
    asked, killed = (f"{moment:%H:%M:%S}" for moment in (run.stop_asked_at, forced))
    return f"{run.cluster} was told to end its job at {asked} and to kill it, last at {killed} UTC, and still has it"


def _experiment_fields(experiment: Experiment, summary: Summary) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "name": experiment.name,
        "description": experiment.description,
        "created_at": experiment.created_at,
        "state": joint_state(summary.counts),
        "runs": sum(summary.counts.values()),
        "counts": summary.counts,
        "progress": summary.step / summary.steps if summary.steps else 0.0,
        "best_accuracy": summary.best_accuracy,
    }
