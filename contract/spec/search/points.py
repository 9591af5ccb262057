"""The points of an experiment with a search, by which its submission is checked."""

from collections.abc import Iterator, Sequence
from typing import Any

from contract.spec.any_run import AnyRun
from contract.spec.checks.stored_size import check_stored_size
from contract.spec.grid.dotted_paths import overlap
from contract.spec.grid.grid import MAX_POINTS, Values
from contract.spec.grid.step_grid import read_new_run, with_values
from contract.spec.grid.value_text import describe_value
from contract.spec.search.checks import search_issues
from contract.spec.search.probe import probe_points
from contract.spec.search.search import SearchSpec
from contract.validation import ValidationIssue

MAX_ISSUES = 100


def check_search(
    search: SearchSpec, base: AnyRun, document: dict[str, Any]
) -> tuple[list[tuple[Values, AnyRun]], list[ValidationIssue]]:
    """Return valid points of a search with their runs, and the issues for which it is refused.

    `document`: the base as a document. Paths of issues are those of the experiment's document.
    """
    if issues := [_inside(issue) for issue in search_issues(search, base)]:
        return [], issues[:MAX_ISSUES]
    if issues := list(_size_issues(search, base)):
        return [], issues
    points: list[tuple[Values, AnyRun]] = []
    found: dict[tuple[str, str], ValidationIssue] = {}
    for values in probe_points(search):
        run, of_point = read_new_run(with_values(document, values))
        if run is not None:
            points.append((values, run))
        for issue in of_point:
            if (issue.path, issue.message) not in found and len(found) < MAX_ISSUES:
                found[issue.path, issue.message] = _at_point(issue, list(search.space), values)
    return points, list(found.values())


def _inside(issue: ValidationIssue) -> ValidationIssue:
    return issue.model_copy(update={"path": f"search.{issue.path}"})


def _size_issues(search: SearchSpec, base: AnyRun) -> Iterator[ValidationIssue]:
    runs = search.size * search.runs_per_trial
    if runs > MAX_POINTS:
        message = (
            f"{search.size:,} trials x {search.runs_per_trial} runs = {runs:,} runs, more than the limit of "
            f"{MAX_POINTS:,}"
        )
        yield ValidationIssue(path="search.trials", message=message)
    elif issue := check_stored_size(base.model_dump(mode="json"), {}, points=runs):
        yield issue


def _at_point(issue: ValidationIssue, paths: Sequence[str], values: Values) -> ValidationIssue:
    """Return the issue of a run at its place in the experiment's document, with the values of the point."""
    path = next((path for path in paths if overlap(issue.path, path)), None)
    where = ", ".join(f"{path}={describe_value(value)[:80]}" for path, value in values.items())
    place = f"base.{issue.path}" if path is None else f"search.space.{path}"
    return ValidationIssue(path=place, message=f"{issue.message} (at {where})")
