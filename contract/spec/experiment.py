"""The spec of an experiment: a base run and the axes of its grid."""

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from contract.spec.any_run import AnyRun, read_run
from contract.spec.base import Spec
from contract.spec.checks.new_run import check_new_run
from contract.spec.checks.packing import MAX_RUNS_PER_JOB, check_packing
from contract.spec.checks.stored_size import check_stored_size
from contract.spec.grid.base_fields import complete_base
from contract.spec.grid.grid import Grid, Values
from contract.spec.grid.value_text import describe_value
from contract.spec.labels import MAX_TAGS, Name, Notes, Owner, Project, Tag
from contract.spec.program.run import ProgramSpec
from contract.spec.run import RunSpec
from contract.validation import ValidationIssue, issues_of, validation_error

REQUIRED = {name for run in (RunSpec, ProgramSpec) for name, field in run.model_fields.items() if field.is_required()}
MAX_ISSUES = 100  # a longer list does not help a person


class ExperimentSpec(Spec):
    """A base run, variants, and axes (dotted path: list of values). Every point of the grid is one run."""

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
    base: AnyRun
    """The run of which every point of the grid is a variation."""
    axes: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default={}, examples=[{"collective": [{"kind": "native"}, {"kind": "ring"}], "optimizer.momentum": [0.9, 0.95]}]
    )
    """The grid: for each dotted path of a run's field the values that it takes. The last axis varies fastest; without
    axes the experiment has one run."""
    variants: list[Annotated[dict[str, Any], Field(min_length=1)]] = Field(
        default=[],
        examples=[
            [
                {"optimizer": {"kind": "sgd"}, "schedule.rate": 0.1},
                {"optimizer": {"kind": "lars"}, "schedule.rate": 8.0},
            ]
        ],
    )
    """Fields that change together: each variant maps dotted paths to values, and all variants set the same fields. With
    axes, every variant has every point of the axes; the variants vary slowest."""
    max_parallel: Annotated[int, Field(ge=1, le=100_000)] | None = Field(default=None, examples=[8])
    """Largest number of runs at the same time on Slurm; null: no limit."""
    pack: Annotated[int, Field(ge=2, le=MAX_RUNS_PER_JOB)] | None = Field(default=None, examples=[4])
    """Number of runs in one Slurm job, side by side on one node; null: each run has its own job."""
    _points: list[tuple[Values, AnyRun]] = PrivateAttr(default=[])
    _was_checked: bool = PrivateAttr(default=False)

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> Self:
        """Return the spec of an accepted experiment, without building and checking its points again."""
        spec = cls.model_construct(**{**stored, "base": read_run(stored["base"])})
        spec._was_checked = True
        return spec

    @property
    def grid(self) -> Grid:
        """The variants and axes."""
        return Grid(self.variants, self.axes)

    def points(self) -> list[tuple[Values, AnyRun]]:
        """Return the values and the complete run of every point, in the order of the grid."""
        return self._points

    def with_points(self, points: list[tuple[Values, AnyRun]]) -> Self:
        """Return the same spec with other points, which were checked elsewhere."""
        spec = self.model_copy()
        spec._points, spec._was_checked = points, True
        return spec

    @model_validator(mode="before")
    @classmethod
    def _complete_base(cls, document: Any) -> Any:
        """Give the base the first value of each required field that it lacks and that the grid sets as a whole."""
        return complete_base(document, REQUIRED) if isinstance(document, Mapping) else document

    @model_validator(mode="after")
    def _check_every_point(self) -> Self:
        if self._was_checked:  # pydantic validates a spec again as part of a response
            return self
        grid = self.grid
        if issue := grid.size_issue():
            raise validation_error([issue])
        if issues := list(islice(grid.issues(list(type(self.base).model_fields)), MAX_ISSUES)):
            raise validation_error(issues)
        base = _base_document(self.base, grid)
        if issue := check_stored_size(self.base.model_dump(mode="json"), grid.columns, points=grid.size):
            raise validation_error([issue])
        points, issues = _expand(base, grid)
        if issues := issues or list(check_packing(self.pack, self.max_parallel, [run for _, run in points])):
            raise validation_error(issues)
        # the attribute is private, so the spec's fields remain frozen
        self._points = points
        return self


def _base_document(base: AnyRun, grid: Grid) -> dict[str, Any]:
    """Return the base as a document; a part whose kind varies has no fields but those that the base writes.

    The defaults of one kind are often no fields of another kind.
    """
    document = base.model_dump(mode="json")
    written = base.model_dump(mode="json", exclude_unset=True)
    for path in grid.paths:
        part, _, field = path.partition(".")
        if field == "kind" and part in document:
            document[part] = written.get(part, {})
    return document


def _expand(base: dict[str, Any], grid: Grid) -> tuple[list[tuple[Values, AnyRun]], list[ValidationIssue]]:
    """Return the points of the grid, and the issues of the points that are not valid runs, each for its first point."""
    points: list[tuple[Values, AnyRun]] = []
    issues: list[ValidationIssue] = []
    found: set[tuple[str, str]] = set()
    for number, values in enumerate(grid.points()):
        run, of_point = _read_new_run(_with_values(base, values))
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


def _read_new_run(document: dict[str, Any]) -> tuple[AnyRun | None, list[ValidationIssue]]:
    """Return the run of a document, or the issues for which it is refused."""
    try:
        run = read_run(document)
    except ValidationError as error:
        return None, issues_of(error)
    issues = list(check_new_run(run))
    return (None, issues) if issues else (run, [])


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
