"""The modules of the user's own parts that this process's Python lacks."""

from contract.spec.checks.imported import check_module
from contract.spec.expanded import Expanded
from contract.validation import ValidationIssue


def absent_modules(experiment: Expanded) -> list[tuple[str, ValidationIssue]]:
    """Return an issue per absent module, at its first part, with the kind of the cluster whose jobs would import it."""
    imports = {
        (run.resources.kind, path, part.function): (number, part)
        for number, (_, run) in enumerate(experiment.points)
        for path, part in run.imports.items()
    }
    found: dict[tuple[str, str], ValidationIssue] = {}
    for (kind, path, _), (number, part) in imports.items():
        if issue := check_module(path, part):
            place = experiment.place(issue.path, number)
            found.setdefault((kind, issue.message), issue.model_copy(update={"path": place}))
    return [(kind, issue) for (kind, _), issue in found.items()]
