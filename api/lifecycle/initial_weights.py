"""Initial weights: the runs that an experiment names, resolved to their newest checkpoints at the submission."""

from fastapi import Request

from api.errors import Invalid
from contract.folder.run_folder import RunFolder
from contract.spec.artifacts.initial_weights import WeightSource, resolve_weights, weight_sources
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.step_grid import MAX_ISSUES
from contract.validation import ValidationIssue
from store.artifacts.holders import holders_of
from store.session import snapshot


def with_initial_weights(request: Request, spec: ExperimentSpec) -> ExperimentSpec:
    """Return the spec with the folder and the checkpoint of all initial weights; raise Invalid.

    The documents of its points get them; the experiment's own document stays as it was submitted.
    """
    if not (wanted := weight_sources(spec.points())):
        return spec
    with snapshot(request.app.state.engine) as db:
        holders = holders_of(db, wanted)
    root = request.app.state.settings.runs_folder()
    sources = {
        id_: WeightSource.read(RunFolder.of(root, one.id, one.key).path, one.spec) for id_, one in holders.items()
    }
    points, found = resolve_weights(spec.points(), sources)
    issues: dict[str, ValidationIssue] = {}
    for number, issue in found:
        issues[issue.message] = issue.model_copy(update={"path": spec.place(issue.path, number)})
    if issues:
        raise Invalid("the experiment is not valid", list(issues.values())[:MAX_ISSUES])
    return spec.with_points(points)
