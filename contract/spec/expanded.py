"""An experiment with the points of its grid, which are built and checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from pydantic import ValidationError

from contract.spec.checks.packing import check_packing
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.dotted_paths import overlap
from contract.spec.grid.step_grid import Points, StepGrid, base_document
from contract.spec.search.points import check_search
from contract.spec.steps.step import with_objective
from contract.spec.steps.template import sample_run
from contract.spec.steps.workflow import expand_steps
from contract.validation import ValidationIssue, validation_error


@dataclass(frozen=True)
class Expanded:
    """A spec with the values and the complete run of every point, in the order of the grid.

    Of a workflow the points are those of each step whose runs are known before any other step has ended. Of a search
    they are examples of its trials, by which it is checked: its runs are made later.
    """

    spec: ExperimentSpec
    points: Points
    # of each point its number in the grid, and beyond the grid that in the `points` of a request; None: the grid's own
    numbers: Sequence[int] | None = None

    def with_points(self, points: Points) -> Self:
        """Return the same spec with other points, which were checked elsewhere; a workflow keeps their number."""
        return replace(self, points=points)

    def only(self, points: Points) -> Self:
        """Return the same spec with some of its points, which keep their places; they are the same objects."""
        known = {id(point): place for place, point in enumerate(self.points)}
        places = [known[id(point)] for point in points]
        return replace(
            self, points=points, numbers=places if self.numbers is None else [self.numbers[one] for one in places]
        )

    def points_of_steps(self) -> list[Points | None]:
        """Return the points of each step of a workflow; None of a step whose runs are known later."""
        found: list[Points | None] = []
        first = 0
        for size in self._sizes:
            found.append(None if size is None else self.points[first : first + size])
            first += size or 0
        return found

    def of_step(self, name: str) -> "Expanded":
        """Return one step of a workflow as an experiment of its own, with the points of the step that are known."""
        index = next(index for index, step in enumerate(self.spec.steps) if step.name == name)
        return Expanded(self.spec.of_step(name), self.points_of_steps()[index] or [])

    def example_run(self) -> dict[str, Any]:
        """Return a run of a workflow's largest step: the table of runs stores of each run how it differs from this one.

        Of a step whose runs are known later it is a sample, with values of the right types for references.
        """
        steps = with_objective(self.spec.steps, self.spec.objective)
        largest = max(steps, key=lambda step: (step.size is None, step.size or 0))
        known = self.points_of_steps()[steps.index(largest)]
        if known:
            return known[0][1].model_dump(mode="json")
        return sample_run(largest, {step.name: step for step in steps})

    def search_base(self) -> dict[str, Any]:
        """Return the document of a run into which the values of a trial of the search are put."""
        assert self.spec.base is not None
        assert self.spec.search is not None
        document, (_, first) = base_document(self.spec.base, self.spec.search.space), self.points[0]
        if first.weights_source:  # the service has found their folder
            document["initial_weights"] = first.weights_source.model_dump(mode="json")
        return document

    def place(self, path: str, number: int) -> str:
        """Return where the document has a field of point `number`: in its variant, in an axis, or in the base.

        A point outside the grid has its own values in the request for further points.
        """
        if not self.spec.is_workflow:
            known = number if self.numbers is None else self.numbers[number]
            if known < self.spec.grid.size or self.spec.search is not None:
                return self.spec.grid.path_in_document(path, known)
            sets = any(overlap(path, own) for own in self.points[number][0])
            return f"points.{known - self.spec.grid.size}.{path}" if sets else f"base.{path}"
        first = 0
        for index, size in enumerate(self._sizes):
            if number < first + (size or 0):
                return f"steps.{index}.{self.spec.steps[index].grid.path_in_document(path, number - first)}"
            first += size or 0
        raise IndexError(f"the experiment has no point {number}")

    @cached_property
    def _sizes(self) -> list[int | None]:
        """The number of points of each step of a workflow; None of a step whose runs are known later."""
        return [step.size if step.is_known else None for step in self.spec.steps]


def read_experiment(document: Mapping[str, Any]) -> Expanded:
    """Return the experiment of a document with its points; raise ValidationError."""
    return expand(ExperimentSpec.model_validate(document))


def expand(spec: ExperimentSpec) -> Expanded:
    """Return the experiment with its points; raise ValidationError for what is wrong with any point or across them."""
    points, issues = _expand(spec)
    if issues:
        details: Any = {"type": validation_error(issues), "input": spec.name}
        raise ValidationError.from_exception_data(ExperimentSpec.__name__, [details])
    return Expanded(spec, points)


def _expand(spec: ExperimentSpec) -> tuple[Points, list[ValidationIssue]]:
    """Return the points of a spec, or the issues for which it is refused."""
    if spec.base is None:
        of_steps, issues = expand_steps(with_objective(spec.steps, spec.objective))
        return [point for points in of_steps for point in points or ()], issues
    if spec.search is not None:
        return _expand_search(spec)
    grid = StepGrid(spec.base.model_dump(mode="json"), spec.grid, spec.pack, spec.max_parallel)
    if issues := grid.grid_issues():
        return [], issues
    written = StepGrid(base_document(spec.base, spec.grid.paths), spec.grid, spec.pack, spec.max_parallel)
    return written.expand_checked()


def _expand_search(spec: ExperimentSpec) -> tuple[Points, list[ValidationIssue]]:
    """Return points that stand for the trials of the search, or the issues for which it is refused."""
    assert spec.base is not None
    assert spec.search is not None
    if spec.axes or spec.variants:
        message = "a search has no axes and no variants: make them parameters of the space, of the kind choice"
        return [], [ValidationIssue(path="search", message=message)]
    points, issues = check_search(spec.search, spec.base, base_document(spec.base, spec.search.space))
    return points, issues or list(check_packing(spec.pack, spec.max_parallel, [run for _, run in points]))
