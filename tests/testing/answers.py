"""Runs of an experiment as the API returns them, with measures of their curves."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from contract.api.answer import Answer
from contract.api.responses import RunView
from contract.lifecycle.divergence import Diverged
from contract.lifecycle.state import State
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.any_run import read_run
from contract.spec.expanded import expand
from contract.spec.experiment import ExperimentSpec
from contract.spec.recorded.run import RecordedExperiment
from study.answer import answer
from study.answer.answer import Choice
from study.answer.measures import Measures, measure

AT = datetime(2026, 11, 23, tzinfo=UTC)
BASE: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 64,
    "epochs": 2,
    "resources": {"kind": "local", "ranks_per_node": 1},
}


def experiment(
    axes: Mapping[str, list[Any]] | None = None, variants: Sequence[Mapping[str, Any]] = (), **base: Any
) -> ExperimentSpec:
    """Return the spec of an experiment."""
    document = {"name": "a grid", "base": {**BASE, **base}, "axes": axes or {}, "variants": list(variants)}
    return ExperimentSpec.model_validate(document)


def runs_of(spec: ExperimentSpec, *accuracies: float | None, state: State = State.DONE) -> list[RunView]:
    """Return the runs of an experiment, the first ones with these accuracies."""
    points = expand(spec).points
    known = [*accuracies, *[None] * len(points)]
    return [
        a_run(number, values, accuracy, state=state)
        for number, ((values, _), accuracy) in enumerate(zip(points, known, strict=False))
    ]


def a_run(number: int, values: Mapping[str, Any], accuracy: float | None, **changes: Any) -> RunView:
    """Return a run that is done, with an accuracy and a loss."""
    fields: dict[str, Any] = {
        "id": number + 1,
        "experiment_id": 1,
        "number": number,
        "values": values,
        "state": State.DONE,
        "attempt": 1,
        "cluster": "local",
        "world": 1,
        "created_at": AT,
        "step": 20,
        "steps": 20,
        "latest": {"loss": 0.5},
        "more_metrics": 0,
        "tags": [],
        "stopping": False,
        "after_failure": False,
        "objective_value": accuracy,
    }
    fields |= changes
    lost = [name for name, value in fields["latest"].items() if value is None]
    # as the service says of a run whose newest value is no finite number
    fields.setdefault("diverged", Diverged(metric=lost[0], step=20, value="nan") if lost else None)
    empty = dict.fromkeys(RunView.model_fields.keys() - fields.keys())
    return RunView.model_validate({**empty, **fields})


def find_answer(
    spec: ExperimentSpec | RecordedExperiment,
    runs: Sequence[RunView],
    measures: Mapping[int, Measures],
    choice: Choice,
    **known: Any,
) -> Answer:
    """Return the answer; without other best values the accuracies of the runs are the values of their objective."""

    def best_values(name: str, _: bool) -> dict[int, float]:
        values = {run.id: run.objective_value for run in runs if name == HELDOUT_ACCURACY}
        return {run_id: value for run_id, value in values.items() if value is not None}

    return answer.find_answer(spec, runs, measures, choice, **{"best_values": best_values, **known})


def measures_of(spec: ExperimentSpec, *seconds: float, accuracy: float = 0.9, **series: float) -> dict[int, Measures]:
    """Return measures: run n reaches half of `accuracy` after half of its seconds, and all of it after all of them."""
    found = {}
    for number, ((_, run), total) in enumerate(zip(expand(spec).points, seconds, strict=False)):
        points: dict[str, list[tuple[int, float | None]]] = {
            "epoch": [(10, 1.0), (20, 2.0)],
            "trained_s": [(10, total / 2), (20, total)],
            "heldout_accuracy": [(10, accuracy / 2), (20, accuracy)],
        }
        found[number + 1] = measure(read_run(run.model_dump(mode="json")), series, points)
    return found
