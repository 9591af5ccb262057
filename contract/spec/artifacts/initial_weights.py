"""Initial weights: the runs that points name, resolved to their newest checkpoints when the points become runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from contract.folder.stored_checkpoints import newest_checkpoint
from contract.spec.any_run import AnyRun
from contract.spec.checks.initial_weights import check_same_net
from contract.spec.grid.grid import Values
from contract.spec.recorded.run import RecordedSpec
from contract.spec.recorded.stored_run import read_stored_run
from contract.spec.run import RunSpec
from contract.validation import ValidationIssue

PATH = "initial_weights.run"


class WeightSource(NamedTuple):
    """A run whose weights another run may take."""

    spec: AnyRun | RecordedSpec
    folder: Path
    checkpoint: str | None  # the newest

    @classmethod
    def read(cls, folder: Path, stored: Mapping[str, Any]) -> Self:
        """Read the run folder of a stored run; may raise OSError."""
        found = newest_checkpoint(folder)
        return cls(read_stored_run(stored), folder, found and found.name)


def weight_sources(points: Sequence[tuple[Values, AnyRun]]) -> set[int]:
    """Return the ids of the runs whose weights the points take."""
    return {run.weights_source.run for _, run in points if run.weights_source}


def resolve_weights(
    points: Sequence[tuple[Values, AnyRun]], sources: Mapping[int, WeightSource]
) -> tuple[list[tuple[Values, AnyRun]], list[tuple[int, ValidationIssue]]]:
    """Return the points with the folder and checkpoint of their weights, and the issues with the numbers of points."""
    found: list[tuple[Values, AnyRun]] = []
    issues: list[tuple[int, ValidationIssue]] = []
    for number, (values, run) in enumerate(points):
        resolved = _resolve(run, sources)
        if isinstance(resolved, str):
            issues.append((number, ValidationIssue(path=PATH, message=resolved)))
        else:
            found.append((values, resolved))
    return found, issues


def _resolve(run: AnyRun, sources: Mapping[int, WeightSource]) -> AnyRun | str:
    """Return the run with its initial weights, or why it cannot have them."""
    if not isinstance(run, RunSpec) or run.initial_weights is None:
        return run
    source_id = run.initial_weights.run
    if source_id not in sources:
        return f"there is no run {source_id}, or the run whose result it took is deleted"
    source, folder, checkpoint = sources[source_id]
    if not isinstance(source, RunSpec):
        return f"run {source_id} is not of the engine, whose checkpoints alone can be read"
    if reason := check_same_net(run, source):
        return f"the weights of run {source_id} do not fit: {reason}"
    if checkpoint is None:
        return f"run {source_id} has no checkpoint: checkpoint.at_end saves one after the last step"
    weights = run.initial_weights.model_copy(update={"folder": str(folder), "checkpoint": checkpoint})
    return run.model_copy(update={"initial_weights": weights})
