"""Initial weights: the runs that an experiment names, resolved to their newest checkpoints at the submission."""

from typing import Any

from fastapi import Request
from sqlalchemy import select

from api.errors import Invalid
from contract.folder.run_folder import RunFolder
from contract.folder.stored_checkpoints import newest_checkpoint
from contract.spec.any_run import AnyRun, read_run
from contract.spec.checks.same_net import check_same_net
from contract.spec.experiment import MAX_ISSUES, ExperimentSpec
from contract.spec.run import RunSpec
from contract.validation import ValidationIssue
from store.session import snapshot
from store.tables import Run


def with_initial_weights(request: Request, spec: ExperimentSpec) -> ExperimentSpec:
    """Return the spec with the folder and the checkpoint of all initial weights; raise Invalid.

    The documents of its points get them; the experiment's own document stays as it was submitted.
    """
    wanted = {run.initial_weights.run for _, run in spec.points() if run.kind == "engine" and run.initial_weights}
    if not wanted:
        return spec
    with snapshot(request.app.state.engine) as db:
        columns = (Run.id, Run.key, Run.spec)
        rows = db.execute(select(*columns).where(Run.id.in_(wanted), Run.deleted_at.is_(None))).all()
    sources = {row.id: _source(request, row.id, row.key, row.spec) for row in rows}
    points, issues = [], []
    for number, (values, run) in enumerate(spec.points()):
        resolved = _resolve(run, sources)
        if isinstance(resolved, str):
            path = spec.grid.path_in_document("initial_weights.run", number)
            issues.append(ValidationIssue(path=path, message=resolved))
        else:
            points.append((values, resolved))
    if issues:
        raise Invalid(
            "the experiment is not valid", list({issue.message: issue for issue in issues}.values())[:MAX_ISSUES]
        )
    return spec.with_points(points)


def _source(request: Request, run_id: int, key: str, stored: dict[str, Any]) -> tuple[AnyRun, RunFolder, str | None]:
    """Return the spec, the folder and the newest checkpoint of a run."""
    folder = RunFolder.of(request.app.state.settings.runs_folder(), run_id, key)
    found = newest_checkpoint(folder.path)
    return read_run(stored), folder, found and found.name


def _resolve(run: AnyRun, sources: dict[int, tuple[AnyRun, RunFolder, str | None]]) -> AnyRun | str:
    """Return the run with its initial weights, or why it cannot have them."""
    if not isinstance(run, RunSpec) or run.initial_weights is None:
        return run
    source_id = run.initial_weights.run
    if source_id not in sources:
        return f"there is no run {source_id}"
    source, folder, checkpoint = sources[source_id]
    if not isinstance(source, RunSpec):
        return f"run {source_id} is of a program, whose checkpoints only the program can read"
    if reason := check_same_net(run, source):
        return f"the weights of run {source_id} do not fit: {reason}"
    if checkpoint is None:
        return f"run {source_id} has no checkpoint: checkpoint.at_end saves one after the last step"
    weights = run.initial_weights.model_copy(update={"folder": str(folder.path), "checkpoint": checkpoint})
    return run.model_copy(update={"initial_weights": weights})
