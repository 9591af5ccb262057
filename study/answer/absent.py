"""What is said where figures are missing: runs that diverged or are left out, and programs that log no metric."""

from collections.abc import Sequence

from contract.api.responses import RunView
from contract.lifecycle.divergence import Diverged
from contract.lifecycle.state import ENDED, State
from contract.spec.experiment import ExperimentSpec
from contract.spec.recorded.run import RecordedExperiment

WAITING = (State.QUEUED, State.SUBMITTING, State.PENDING)
HOW_TO_LOG = (
    "no run has reported a metric: print one and name it with `--metric`, or log it with `import bigbatch` and "
    "`bigbatch.log(loss=...)`"
)


def without_figure(spec: ExperimentSpec | RecordedExperiment, runs: Sequence[RunView], left_out: int) -> str:
    """Return why no figure of these runs answers the question, as a sentence; `left_out`: the number of others."""
    if left_out and not runs:
        return f"{_how_many(left_out, left_out)} {'is' if left_out == 1 else 'are'} left out of the answer."
    if diverged := [run.diverged for run in runs if run.diverged is not None]:
        return f"{_how_many(len(diverged), len(runs))} diverged{_where(diverged)}."
    is_program = isinstance(spec, ExperimentSpec) and spec.base is not None and spec.base.names_own_metrics
    if is_program and any(run.state not in WAITING for run in runs):
        return f"{HOW_TO_LOG[0].upper()}{HOW_TO_LOG[1:]}."
    return "No run has reported a figure yet." if any(run.state not in ENDED for run in runs) else _ended(runs)


def _where(diverged: Sequence[Diverged]) -> str:
    """Return what the first run tells of its divergence; the others are alike more often than not."""
    first = diverged[0]
    if first.metric is not None:
        return f": {first.sentence}"
    return f"{', the first one' if len(diverged) > 1 else ''} at step {first.step}"


def _how_many(count: int, total: int) -> str:
    if count < total:
        return f"{count} of {total} runs"
    return f"All {total} runs" if total > 1 else "The only run"


def _ended(runs: Sequence[RunView]) -> str:
    failed = sum(run.state is State.FAILED for run in runs)
    return f"No run has reported a figure{f': {failed} of {len(runs)} failed' if failed else ''}."
