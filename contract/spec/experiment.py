"""The spec of an experiment: a base run and the axes of its grid, or the steps of a workflow."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from contract.spec.any_run import AnyRun, read_run
from contract.spec.base import Spec
from contract.spec.checks.packing import MAX_RUNS_PER_JOB
from contract.spec.grid.base_fields import complete_base
from contract.spec.grid.fields import Axes, MaxParallel, Variants
from contract.spec.grid.grid import Grid
from contract.spec.grid.step_grid import REQUIRED
from contract.spec.labels import MAX_TAGS, Name, Notes, Owner, Project, Tag
from contract.spec.notify_rule import Notify
from contract.spec.objective import OBJECTIVE_EXAMPLE, Objective, objective_issues
from contract.spec.search.search import SearchSpec
from contract.spec.steps.step import MAX_STEPS, StepSpec
from contract.validation import ValidationIssue, validation_error

BASE_EXAMPLE = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 256,
    "epochs": 10,
}
STEPS_EXAMPLE = [
    {"name": "prepare", "base": {"kind": "program", "command": "python prepare.py"}},
    {"name": "train", "needs": ["prepare"], "base": {"kind": "program", "command": "python train.py"}},
]
SEARCH_EXAMPLE = {
    "space": {"schedule.rate": {"kind": "log_uniform", "low": 0.1, "high": 10.0}},
    "sampler": {"kind": "tpe"},
    "trials": 30,
}
OF_ONE_STEP = ("axes", "variants", "max_parallel", "pack")  # fields that a workflow has in each step


class ExperimentSpec(Spec):
    """A base run, variants, and axes (dotted path: list of values); every point of the grid is one run. Or steps, each
    with a base and a grid of its own."""

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
    base: AnyRun | None = Field(default=None, examples=[BASE_EXAMPLE])
    """The run of which every point of the grid is a variation; null: the experiment has `steps`."""
    axes: Axes = Field(
        default={}, examples=[{"collective": [{"kind": "native"}, {"kind": "ring"}], "optimizer.momentum": [0.9, 0.95]}]
    )
    """The grid: for each dotted path of a run's field the values that it takes. The last axis varies fastest; without
    axes the experiment has one run."""
    variants: Variants = Field(
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
    search: SearchSpec | None = Field(default=None, examples=[SEARCH_EXAMPLE])
    """A sweep that learns, instead of axes and variants: a sampler chooses the values of each next run."""
    objective: Objective | None = Field(default=None, examples=[OBJECTIVE_EXAMPLE])
    """Which metric counts; null: that of the search, of the engine the best held-out accuracy, of a program the metric
    whose name tells most."""
    max_parallel: MaxParallel = Field(default=None, examples=[8])
    """Largest number of runs at the same time on Slurm; null: no limit."""
    pack: Annotated[int, Field(ge=2, le=MAX_RUNS_PER_JOB)] | None = Field(default=None, examples=[4])
    """Number of runs in one Slurm job, side by side on one node; null: each run has its own job."""
    steps: Annotated[list[StepSpec], Field(max_length=MAX_STEPS)] = Field(default=[], examples=[STEPS_EXAMPLE])
    """The steps of a workflow, in place of `base`, `axes`, `variants`, `max_parallel` and `pack`: each has its own."""
    notify: Notify = Field(default=[], examples=[[{"target": "team-slack", "on": ["end", "failure"]}]])
    """Who gets messages about the experiment, in addition to the rules of users."""

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> Self:
        """Return the spec of an accepted experiment, without checking it again."""
        base, steps = stored.get("base"), stored.get("steps", [])
        built = {
            "base": None if base is None else read_run(base),
            "steps": [StepSpec.model_validate(step) for step in steps],
            "search": stored.get("search") and SearchSpec.model_validate(stored["search"]),
            "objective": stored.get("objective") and Objective.model_validate(stored["objective"]),
        }
        return cls.model_construct(**{**stored, **built})

    @property
    def is_workflow(self) -> bool:
        """Whether the experiment has steps."""
        return self.base is None

    @property
    def grid(self) -> Grid:
        """The variants and axes of an experiment without steps."""
        return Grid(self.variants, self.axes)

    def of_step(self, name: str) -> Self:
        """Return one step of a workflow as an experiment of its own."""
        step = next(step for step in self.steps if step.name == name)
        fields = {field: getattr(step, field) for field in OF_ONE_STEP}
        return self.model_construct(name=f"{self.name}: {name}", base=None, objective=step.own_objective, **fields)

    @model_validator(mode="before")
    @classmethod
    def _complete_base(cls, document: Any) -> Any:
        """Give the base the first value of each required field that it lacks and that the grid sets as a whole."""
        return complete_base(document, REQUIRED) if isinstance(document, Mapping) else document

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        if issues := [*objective_issues(self.objective, self.search), *self._form_issues()]:
            raise validation_error(issues)
        return self

    def _form_issues(self) -> list[ValidationIssue]:
        """Return an issue for each field that an experiment of this form does not have."""
        if self.base is not None:
            message = "an experiment has either `base` or `steps`"
            return [ValidationIssue(path="steps", message=message)] if self.steps else []
        if not self.steps:
            return [ValidationIssue(path="base", message="required field, or `steps` for a workflow")]
        message = "each step of a workflow has its own: write it in a step"
        issues = [ValidationIssue(path=name, message=message) for name in OF_ONE_STEP if getattr(self, name)]
        if self.search is not None:
            issues.append(ValidationIssue(path="search", message="a workflow has no search: submit it by itself"))
        return issues
