"""Rows as the views of the contract."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contract.chosen import Choices
from contract.experiment import ExperimentSpec
from contract.run import ENDED, State, joint_state
from contract.spec import RunSpec
from contract.views import ExperimentDetail, ExperimentView, MoveView, RestartView, RunDetail, RunView
from store.experiments import Summary
from store.tables import Experiment, Move, Restart, Run


def run_view(run: Run) -> RunView:
    return RunView(**_run_fields(run))


def run_detail(
    run: Run,
    moves: list[Move],
    restarts: Sequence[Restart],
    series: list[str],
    *,
    folder: Path,
    choices: Choices | None,
) -> RunDetail:
    return RunDetail(
        **_run_fields(run),
        spec=RunSpec.model_validate(run.spec),
        moves=[MoveView.model_validate(move, from_attributes=True) for move in moves],
        restarts=[RestartView.model_validate(restart, from_attributes=True) for restart in restarts],
        series=series,
        folder=str(folder),
        choices=choices,
    )


def experiment_view(experiment: Experiment, summary: Summary) -> ExperimentView:
    return ExperimentView(**_experiment_fields(experiment, summary))


def experiment_detail(experiment: Experiment, summary: Summary) -> ExperimentDetail:
    # checked at the door; checking thousands of points again at every look would be slow
    spec = ExperimentSpec.model_construct(
        **{**experiment.spec, "base": RunSpec.model_validate(experiment.spec["base"])}
    )
    return ExperimentDetail(**_experiment_fields(experiment, summary), spec=spec)


def _run_fields(run: Run) -> dict[str, Any]:
    plain = RunView.model_fields.keys() - {"stopping"}
    return {
        **{name: getattr(run, name) for name in plain},
        "stopping": run.stop_wanted_at is not None and State(run.state) not in ENDED,
    }


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
