"""Warnings about an experiment that is accepted: what the service cannot decide."""

from contract.spec.checks.time_limit import warn_of_short_limit
from contract.spec.expanded import Expanded
from orders.checks.absent_modules import absent_modules


def find_warnings(experiment: Expanded) -> list[str]:
    """Return what the service cannot decide: the jobs may use another Python, start faster, or load images faster."""
    modules = [
        f"{issue.path}: {issue.message}; the jobs' Python must have it" for _, issue in absent_modules(experiment)
    ]
    short = [
        f"{experiment.place(issue.path, number)}: {issue.message}"
        for number, (_, run) in enumerate(experiment.points)
        if (issue := warn_of_short_limit(run.resources))
    ]
    few = [
        f"{experiment.place(issue.path, number)}: {issue.message}"
        for number, (_, run) in enumerate(experiment.points)
        if (issue := run.input_warning())
    ]
    return [*modules, *dict.fromkeys(short), *dict.fromkeys(few)]
