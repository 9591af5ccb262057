"""The spec of an experiment: a base run and the axes of its grid."""

import json
from collections.abc import Hashable, Iterator
from itertools import product
from math import prod
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from contract.spec.base import Spec
from contract.spec.checks.packing import MAX_RUNS_PER_JOB, check_packing
from contract.spec.checks.stored_size import check_stored_size
from contract.spec.labels import MAX_TAGS, Name, Notes, Owner, Project, Tag
from contract.spec.run import RunSpec
from contract.validation import ValidationIssue, issues_of, validation_error

MAX_POINTS = 10_000  # a larger grid is usually a mistake
MAX_AXES = 100  # a run has fewer fields, besides the options of an imported net
MAX_PATH_PARTS = 20  # of a dotted path
MAX_ISSUES = 100  # a longer list does not help a person

Values = dict[str, Any]  # dotted path -> the value of this point


class ExperimentSpec(Spec):
    """A base run and axes (dotted path: list of values). Every point of the grid is one run."""

    name: Name = Field(examples=["torus against ring"])
    """Name of the experiment: one line that is not blank. Several experiments may have the same name."""
    description: str = Field(default="", max_length=10_000, examples=["All collectives compute the same sums."])
    """Text for people."""
    notes: Notes = Field(default="", examples=["Compare with experiment 12."])
    """Notes on the experiment, in Markdown; they can be changed later."""
    owner: Owner | None = Field(default=None, examples=["ada"])
    """Owner of the experiment; null: the user of the client that submits the experiment."""
    project: Project = Field(default="", examples=["vision"])
    """Project of the experiment."""
    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS)] = Field(default=[], examples=[["baseline", "lars"]])
    """Tags of the experiment; they can be changed later."""
    base: RunSpec
    """The run of which every point of the grid is a variation."""
    axes: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default={}, examples=[{"collective": [{"kind": "native"}, {"kind": "ring"}], "optimizer.momentum": [0.9, 0.95]}]
    )
    """The grid: for each dotted path of a run's field the values that it takes. The last axis varies fastest; without
    axes the experiment has one run."""
    max_parallel: Annotated[int, Field(ge=1, le=100_000)] | None = Field(default=None, examples=[8])
    """Largest number of runs at the same time on Slurm; null: no limit."""
    pack: Annotated[int, Field(ge=2, le=MAX_RUNS_PER_JOB)] | None = Field(default=None, examples=[4])
    """Number of runs in one Slurm job, side by side on one node; null: each run has its own job."""
    _points: list[tuple[Values, RunSpec]] = PrivateAttr(default=[])
    _was_checked: bool = PrivateAttr(default=False)

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> Self:
        """Return the spec of an accepted experiment, without building and checking its points again."""
        spec = cls.model_construct(**{**stored, "base": RunSpec.model_validate(stored["base"])})
        spec._was_checked = True
        return spec

    def points(self) -> list[tuple[Values, RunSpec]]:
        """Return the values and the complete run of every point; the last axis varies fastest."""
        return self._points

    def with_points(self, points: list[tuple[Values, RunSpec]]) -> Self:
        """Return the same spec with other points, which were checked elsewhere."""
        spec = self.model_copy()
        spec._points, spec._was_checked = points, True
        return spec

    @model_validator(mode="after")
    def _check_every_point(self) -> Self:
        if self._was_checked:  # pydantic validates a spec again as part of a response
            return self
        if len(self.axes) > MAX_AXES:
            message = f"{len(self.axes):,} axes are more than the limit of {MAX_AXES}"
            raise validation_error([ValidationIssue(path="axes", message=message)])
        size = prod(len(values) for values in self.axes.values())
        if size > MAX_POINTS:
            factors = " x ".join(str(len(values)) for values in self.axes.values())
            message = f"the grid has {factors} = {size:,} points, more than the limit of {MAX_POINTS:,}"
            raise validation_error([ValidationIssue(path="axes", message=message)])
        if issues := list(_axis_issues(self.axes)):
            raise validation_error(issues)
        base = self.base.model_dump(mode="json")
        if issue := check_stored_size(base, self.axes, points=size):
            raise validation_error([issue])
        points, issues = _expand(base, self.axes)
        if issues := issues or list(check_packing(self.pack, self.max_parallel, [run for _, run in points])):
            raise validation_error(issues)
        # the attribute is private, so the spec's fields remain frozen
        self._points = points
        return self


def _axis_issues(axes: dict[str, list[Any]]) -> Iterator[ValidationIssue]:
    for path, values in axes.items():
        if not all(path.split(".")):
            yield ValidationIssue(path=f"axes.{path}", message=f"'{path}' is not a dotted path of a run's fields")
        if (parts := path.count(".") + 1) > MAX_PATH_PARTS:
            message = f"the path has {parts:,} parts, more than the limit of {MAX_PATH_PARTS}"
            yield ValidationIssue(path=f"axes.{path[:80]}", message=message)
        for other in axes:
            if path.startswith(f"{other}."):
                yield ValidationIssue(path=f"axes.{path}", message=f"the axis '{other}' also sets this field")
        if twice := list(_repeated_values(values)):
            yield ValidationIssue(path=f"axes.{path}", message=f"{twice[0]!r:.80} is listed twice")


def _repeated_values(values: list[Any]) -> Iterator[Any]:
    """Yield each value that is equal to an earlier value."""
    seen: set[Any] = set()
    for value in values:
        key = value if isinstance(value, Hashable) else json.dumps(value, sort_keys=True, default=str)
        if key in seen:
            yield value
        seen.add(key)


def _expand(
    base: dict[str, Any], axes: dict[str, list[Any]]
) -> tuple[list[tuple[Values, RunSpec]], list[ValidationIssue]]:
    """Return the points of the grid, and the issues of the points that are not valid runs, each for its first point."""
    points: list[tuple[Values, RunSpec]] = []
    issues: list[ValidationIssue] = []
    found: set[tuple[str, str]] = set()
    for number, chosen in enumerate(product(*axes.values())):
        values = dict(zip(axes, chosen, strict=True))
        try:
            points.append((values, RunSpec.model_validate(_with_values(base, values))))
        except ValidationError as error:
            where = ", ".join(f"{path}={str(value)[:80]}" for path, value in values.items())
            new = [issue for issue in issues_of(error) if (issue.path, issue.message) not in found]
            found.update((issue.path, issue.message) for issue in new)
            for issue in new[: MAX_ISSUES - len(issues)]:
                message = f"{issue.message} (point {number}: {where})" if where else issue.message
                issues.append(ValidationIssue(path=issue_path(issue.path, axes), message=message))
            if max(len(issues), number + 1 - len(points)) >= MAX_ISSUES:  # the latter: points that are not valid
                break
    return points, issues


def issue_path(path: str, axes: dict[str, list[Any]]) -> str:
    """Return the field's path in the document: in an axis that sets the field or a part of it, else in the base."""
    is_in_axis = any(f"{path}.".startswith(f"{axis}.") or f"{axis}.".startswith(f"{path}.") for axis in axes)
    return f"{'axes' if is_in_axis else 'base'}.{path}"


def _with_values(base: dict[str, Any], values: Values) -> dict[str, Any]:
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
