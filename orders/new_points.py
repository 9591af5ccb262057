"""Points that a request adds to an experiment, built and checked as a new experiment's points are."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from contract.spec.expanded import Expanded, read_experiment
from contract.spec.grid.dotted_paths import known_path
from contract.spec.grid.equal_values import value_key
from contract.spec.grid.grid import Values
from contract.spec.grid.step_grid import Points
from contract.spec.grid.value_text import PARAMETERS
from contract.validation import ValidationIssue, issues_of
from orders.refused import Refused, invalid

MAX_EXTRA = 1000  # points outside the grid in a request: each is validated by itself
NOT_VALID = "the points are not valid"


def grown_grid(stored: dict[str, Any], axes: Mapping[str, list[Any]]) -> Expanded | Refused:
    """Return the stored spec with further values of its axes."""
    known: dict[str, list[Any]] = stored.get("axes", {})
    axes = {known_path(path, known): values for path, values in axes.items()}
    issues = [ValidationIssue(path=f"axes.{path}", message=_no_axis(path, known)) for path in axes if path not in known]
    if issues:
        return Refused(NOT_VALID, issues)
    grown = {path: [*values, *_further(values, axes.get(path, []))] for path, values in known.items()}
    try:
        return read_experiment({**stored, "axes": grown})
    except ValidationError as error:
        return Refused(NOT_VALID, issues_of(error))


def _further(known: Sequence[Any], asked: Sequence[Any]) -> list[Any]:
    keys = set(map(value_key, known))
    return [value for value in asked if value_key(value) not in keys]


def extra_points(stored: dict[str, Any], points: Sequence[Values]) -> Points | Refused:
    """Return the runs of points by their values."""
    if len(points) > MAX_EXTRA:
        message = f"{len(points):,} points are more than the limit of {MAX_EXTRA:,} in a request"
        return invalid(NOT_VALID, "points", message)
    found: Points = []
    issues: list[ValidationIssue] = []
    fields = _fields_of(stored)
    for number, named in enumerate(points):
        values = {known_path(path, fields): value for path, value in named.items()}
        grid = {"axes": {path: [value] for path, value in values.items()}, "variants": []}
        try:
            found += read_experiment({**stored, **grid}).points
        except ValidationError as error:
            issues += [_in_point(issue, number) for issue in issues_of(error)]
    return Refused(NOT_VALID, issues) if issues else found


def _fields_of(stored: dict[str, Any]) -> set[str]:
    """Return the fields that the experiment sets by its grid, or as parameters of a program."""
    parameters = stored["base"].get("parameters", {})
    variants: list[Values] = stored.get("variants", [])
    return {
        *stored.get("axes", {}),
        *(path for one in variants for path in one),
        *(PARAMETERS + one for one in parameters),
    }


def _no_axis(path: str, known: dict[str, list[Any]]) -> str:
    axes = f"its axes are {', '.join(known)}" if known else "it has no axes"
    return f"the experiment has no axis '{path}' ({axes}): add points outside the grid by `points`"


def _in_point(issue: ValidationIssue, number: int) -> ValidationIssue:
    field = issue.path.removeprefix("axes.")
    return issue.model_copy(update={"path": f"points.{number}.{field}"})
