"""The grid of one step: a base run, and the variants and axes by which its points differ. An experiment without steps
is one such step."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import ValidationError

from contract.spec.any_run import AnyRun, read_run
from contract.spec.checks.packing import check_packing
from contract.spec.checks.stored_size import check_stored_size
from contract.spec.grid.grid import Grid, Values
from contract.spec.grid.value_text import describe_value
from contract.spec.program.run import ProgramSpec
from contract.spec.run import RunSpec
from contract.validation import ValidationIssue, issues_of

REQUIRED = {name for run in (RunSpec, ProgramSpec) for name, field in run.model_fields.items() if field.is_required()}
MAX_ISSUES = 100  # a longer list does not help a person
Points = list[tuple[Values, AnyRun]]


@dataclass(frozen=True)
class StepGrid:
    """A base run as a document, the grid over it, and how its runs share jobs."""

    base: Mapping[str, Any]
    grid: Grid
    pack: int | None = None
    max_parallel: int | None = None

    def grid_issues(self) -> list[ValidationIssue]:
        """Return what is wrong with the grid itself, before any of its points is read."""
        if issue := self.grid.size_issue():
            return [issue]
        model = ProgramSpec if self.base.get("kind") == "program" else RunSpec
        if issues := list(islice(self.grid.issues(list(model.model_fields)), MAX_ISSUES)):
            return issues
        issue = check_stored_size(dict(self.base), self.grid.columns, points=self.grid.size)
        return [issue] if issue else []

    def expand(self) -> tuple[Points, list[ValidationIssue]]:
        """Return the points of the grid, or the issues for which they are refused."""
        issues = self.grid_issues()
        return ([], issues) if issues else self.expand_checked()

    def expand_checked(self) -> tuple[Points, list[ValidationIssue]]:
        """Return the points of a grid without issues of its own, or the issues for which they are refused."""
        points, issues = _expand(self.base, self.grid)
        return points, issues or list(check_packing(self.pack, self.max_parallel, [run for _, run in points]))

    def documents(self) -> Iterator[tuple[Values, dict[str, Any]]]:
        """Yield the values and the document of the run of every point, in the order of the grid."""
        for values in self.grid.points():
            yield values, with_values(self.base, values)


def base_document(base: AnyRun, paths: Collection[str]) -> dict[str, Any]:
    """Return the base as a document; a part whose kind is among `paths` has no fields but those that the base writes.

    The defaults of one kind are often no fields of another kind.
    """
    document = base.model_dump(mode="json")
    written = base.model_dump(mode="json", exclude_unset=True)
    for path in paths:
        part, _, field = path.partition(".")
        if field == "kind" and part in document:
            document[part] = written.get(part, {})
    return document


def _expand(base: Mapping[str, Any], grid: Grid) -> tuple[Points, list[ValidationIssue]]:
    """Return the points of the grid, and the issues of the points that are not valid runs, each for its first point."""
    points: Points = []
    issues: list[ValidationIssue] = []
    found: set[tuple[str, str]] = set()
    for number, values in enumerate(grid.points()):
        run, of_point = read_new_run(with_values(base, values))
        if run is not None:
            points.append((values, run))
            continue
        where = ", ".join(f"{path}={describe_value(value)[:80]}" for path, value in values.items())
        new = [issue for issue in of_point if (issue.path, issue.message) not in found]
        found.update((issue.path, issue.message) for issue in new)
        for issue in new[: MAX_ISSUES - len(issues)]:
            message = f"{issue.message} (point {number}: {where})" if where else issue.message
            issues.append(ValidationIssue(path=grid.path_in_document(issue.path, number), message=message))
        if max(len(issues), number + 1 - len(points)) >= MAX_ISSUES:  # the latter: points that are not valid
            break
    return points, issues


def read_new_run(document: Mapping[str, Any]) -> tuple[AnyRun | None, list[ValidationIssue]]:
    """Return the run of a document, or the issues for which it is refused."""
    try:
        run = read_run(document)
    except ValidationError as error:
        return None, issues_of(error)
    issues = list(run.new_run_issues())
    return (None, issues) if issues else (run, [])


def with_values(base: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """Return a copy of `base` with the dotted paths set: {"resources.nodes": 2} sets base["resources"]["nodes"]."""
    out = {key: dict(value) if isinstance(value, dict) else value for key, value in base.items()}
    for path, value in values.items():
        *parents, leaf = path.split(".")
        at = out
        for parent in parents:
            inner = at.get(parent)
            # a value that is not an object is replaced by one, so that validation reports the unknown path
            at[parent] = dict(inner) if isinstance(inner, dict) else {}
            at = at[parent]
        at[leaf] = value
    return out
