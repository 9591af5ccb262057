"""Rows as the views of the contract."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from contract.api.responses import (
    AttemptView,
    ExperimentDetail,
    ExperimentView,
    MoveView,
    Page,
    RestartView,
    RunDetail,
    RunView,
)
from contract.diagnosis.diagnose import Ended
from contract.folder.auto_choice import Choices
from contract.folder.cpu_binding import Bindings
from contract.folder.lost_rank import LostRank
from contract.lifecycle.failure import Failure
from contract.lifecycle.pending_reason import Waits
from contract.lifecycle.state import ENDED, State, joint_state
from contract.spec.experiment import ExperimentSpec
from contract.spec.retry import Cause
from contract.spec.run import RunSpec
from store.experiments import Summary
from store.run_list import ListedRun
from store.tables import Attempt, Experiment, Move, Restart, Run, now

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
    lost_ranks: list[LostRank] | None


def run_detail(run: Run, story: Story, series: list[str], told: Told) -> RunDetail:
    return RunDetail(
        **_run_fields(run),
        spec=RunSpec.model_validate(run.spec),
        moves=[MoveView.model_validate(move, from_attributes=True) for move in story.moves],
        attempts=[AttemptView.model_validate(attempt, from_attributes=True) for attempt in story.attempts],
        restarts=[RestartView.model_validate(restart, from_attributes=True) for restart in story.restarts],
        excluded=run.excluded,
        failure=story.failure,
        series=series,
        folder=str(told.path),
        choices=told.choices,
        bindings=told.bindings,
        lost_ranks=told.lost_ranks or [],
    )


def ended(attempt: Attempt, cluster: str) -> Ended:
    return Ended(attempt.number, Cause(attempt.cause), attempt.reason, attempt.hosts, cluster)


def experiment_view(experiment: Experiment, summary: Summary) -> ExperimentView:
    return ExperimentView(**_experiment_fields(experiment, summary))


def experiment_detail(experiment: Experiment, summary: Summary) -> ExperimentDetail:
    return ExperimentDetail(
        **_experiment_fields(experiment, summary), spec=ExperimentSpec.checked_before(experiment.spec)
    )


def _run_fields(run: Run | ListedRun) -> dict[str, Any]:
    has_ended = State(run.state) in ENDED
    return {
        **{name: getattr(run, name) for name in PLAIN},
        "reason": _reason(run, has_ended=has_ended),
        "stopping": run.stop_wanted_at is not None and not has_ended,
    }


def _reason(run: Run | ListedRun, *, has_ended: bool) -> str | None:
    """Why it is so, in a sentence; of a run that has ended also that its job goes on all the same."""
    if has_ended and run.job_id and not run.job_gone:
        return "; ".join(filter(None, [run.reason, _unheeded(run)])) or None
    unheeded = _unheeded(run) if run.stop_wanted_at is not None and not has_ended else None
    # one that runs may have been suspended; that it waits for others can only be from before it began
    stands = run.state == State.PENDING or (run.state == State.RUNNING and run.waits_kind == Waits.HELD)
    return unheeded or (run.waits_for if stands and run.waits_for else run.reason)


def _unheeded(run: Run | ListedRun) -> str | None:
    """That its cluster was told to end the job and did not, in a sentence; None while it may still."""
    if run.stop_asked_at is None or now() - run.stop_asked_at < HEED:
        return None
    asked = f"{run.cluster} was told to end its job at {run.stop_asked_at:%H:%M:%S}"
    killed = f" and to kill it, last at {run.stop_forced_at:%H:%M:%S}" if run.stop_forced_at else ""
    return f"{asked}{killed} UTC, and still has it"


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
