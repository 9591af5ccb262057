"""What is said where figures are missing: values that are not finite, and programs that log no metric."""

from collections.abc import Sequence

from contract.api.responses import RunView
from contract.lifecycle.state import ENDED, State
from contract.metric_names import HELDOUT_ACCURACY, HELDOUT_LOSS, LOSS
from contract.spec.experiment import ExperimentSpec
from contract.spec.program.run import ProgramSpec
from contract.spec.recorded.run import RecordedExperiment
from study.answer.figures import own_names

MOST_NAMES = 3  # of metrics that are not finite
WAITING = (State.QUEUED, State.SUBMITTING, State.PENDING)
HOW_TO_LOG = (
    "no run has reported a metric: print one and name it with `--metric`, or log it with `import bigbatch` and "
    "`bigbatch.log(loss=...)`"
)


def without_figure(spec: ExperimentSpec | RecordedExperiment, runs: Sequence[RunView]) -> str:
    """Return why there is no figure that answers the question, as a sentence."""
    if lost := _not_finite(runs):
        count = len({run for members in lost.values() for run in members})
        return f"{count} of {len(runs)} runs reported values that are not finite (NaN or infinite): {_named(lost)}."
    is_program = isinstance(spec, ExperimentSpec) and isinstance(spec.base, ProgramSpec)
    if is_program and any(run.state not in WAITING for run in runs):
        return f"{HOW_TO_LOG[0].upper()}{HOW_TO_LOG[1:]}."
    return "No run has reported a figure yet." if any(run.state not in ENDED for run in runs) else _ended(runs)


def not_finite_notes(runs: Sequence[RunView]) -> list[str]:
    """Return how many runs reported values that are not finite, and of which metric; no mean counts these values."""
    lost = _not_finite(runs)
    return [f"values that are not finite (NaN or infinite) count in no mean: {_named(lost)}"] if lost else []


def _not_finite(runs: Sequence[RunView]) -> dict[str, list[int]]:
    """Return the runs whose newest value of a metric is no finite number, by metric."""
    names = [name for name in (LOSS, HELDOUT_LOSS, HELDOUT_ACCURACY) if any(name in run.latest for run in runs)]
    found = {
        name: [run.id for run in runs if name in run.latest and run.latest[name] is None]
        for name in [*names, *own_names(runs)]
    }
    return {name: members for name, members in found.items() if members}


def _named(lost: dict[str, list[int]]) -> str:
    texts = [f"{name} in {len(members)} {'run' if len(members) == 1 else 'runs'}" for name, members in lost.items()]
    more = [f"{len(texts) - MOST_NAMES} more metrics"] if len(texts) > MOST_NAMES else []
    return ", ".join([*texts[:MOST_NAMES], *more])


def _ended(runs: Sequence[RunView]) -> str:
    failed = sum(run.state is State.FAILED for run in runs)
    return f"No run has reported a figure{f': {failed} of {len(runs)} failed' if failed else ''}."
