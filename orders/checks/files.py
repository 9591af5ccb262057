"""The check of the files that runs need, as far as this host sees them."""

from pathlib import Path

from contract.spec.expanded import Expanded
from contract.validation import ValidationIssue


def absent_files(experiment: Expanded, runs_folder: Path) -> list[ValidationIssue]:
    """Return an issue for each file that a run of the experiment needs and that is not there."""
    found: dict[tuple[str, str], ValidationIssue] = {}
    for number, (_, run) in enumerate(experiment.points):
        for issue in run.file_issues(runs_folder):
            path = experiment.place(issue.path, number)
            found.setdefault((path, issue.message), issue.model_copy(update={"path": path}))
    return list(found.values())
