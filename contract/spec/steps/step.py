"""The spec of one step of a workflow: a base run, the grid over it, and what it waits for."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.any_run import kind_of
from contract.spec.base import Spec
from contract.spec.checks.packing import MAX_RUNS_PER_JOB
from contract.spec.grid.fields import Axes, MaxParallel, Variants
from contract.spec.grid.grid import Grid
from contract.spec.grid.step_grid import StepGrid
from contract.spec.objective import OBJECTIVE_EXAMPLE, Objective, best_value_of
from contract.spec.program.section import complete_program
from contract.spec.steps.condition import parse_condition, references_in
from contract.spec.steps.reference import (
    STEP_NAME,
    FoundReference,
    Reference,
    find_references,
    parse_reference,
)
from contract.validation import ValidationIssue, validation_error

MAX_STEPS = 1_000
MAX_NEEDS = 1_000
FAN_OUT = "{steps.prepare.outputs.shards}"
StepName = Annotated[str, Field(pattern=rf"^{STEP_NAME}$", max_length=60)]
OnFailure = Literal["fail", "skip", "continue"]


def _complete_base(base: dict[str, Any]) -> dict[str, Any]:
    """Return the base with the fields that its section stands for: other steps refer to outputs that it leaves out."""
    completed: dict[str, Any] = complete_program(base) if kind_of(base) == "program" else base
    return completed


class StepSpec(Spec):
    """One step of a workflow. Its runs start when the steps that it needs have ended."""

    name: StepName = Field(examples=["train"])
    """Name of the step, by which other steps refer to it."""
    needs: Annotated[list[StepName], Field(max_length=MAX_NEEDS)] = Field(default=[], examples=[["prepare"]])
    """Steps that must end before this one starts; a step to which a field refers is needed without being named here."""
    base: Annotated[dict[str, Any], AfterValidator(_complete_base)] = Field(
        examples=[{"kind": "program", "command": "python prepare.py"}]
    )
    """The run of which every point of the step's grid is a variation, as `base` of an experiment without steps. Its
    texts may refer to other steps: `{steps.prepare.outputs.data}`, `{steps.train.best.spec.schedule.rate}`."""
    axes: Axes = Field(default={}, examples=[{"parameters.lr": [0.05, 0.1, 0.2]}])
    """The grid of the step, as `axes` of an experiment."""
    variants: Variants = Field(default=[], examples=[[{"optimizer": {"kind": "sgd"}, "schedule.rate": 0.1}]])
    """Fields that change together, as `variants` of an experiment."""
    max_parallel: MaxParallel = Field(default=None, examples=[8])
    """Largest number of the step's runs at the same time on Slurm; null: no limit."""
    pack: Annotated[int, Field(ge=2, le=MAX_RUNS_PER_JOB)] | None = Field(default=None, examples=[4])
    """Number of the step's runs in one Slurm job; null: each run has its own job."""
    over: Annotated[dict[str, str], Field(max_length=10)] = Field(default={}, examples=[{"parameters.shard": FAN_OUT}])
    """Further axes whose values an earlier step makes: for a dotted path the reference to an output, a file with a JSON
    list or one value on each line, or to the values of all runs (`{steps.train.all.checkpoint}`)."""
    when: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        default=None, examples=["steps.probe.best.loss < 2"]
    )
    """Condition on figures of earlier steps; if it does not hold, the step and those that need it are skipped. null:
    none."""
    on_failure: OnFailure = "fail"
    """What happens if a run of the step fails or is cancelled: `fail`: no further step of the experiment starts;
    `skip`: the steps that need this one are skipped; `continue`: they start, with the runs that succeeded."""
    best_by: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(default=None, examples=["val_acc"])
    """Short for an `objective` that is the best value of this metric, the least one unless the name says otherwise."""
    objective: Objective | None = Field(default=None, examples=[OBJECTIVE_EXAMPLE])
    """By what the best run is chosen where a reference names no metric, as in `{steps.train.best.checkpoint}`; null:
    the objective of the workflow, else the best `heldout_accuracy` for runs of the engine, and none for programs."""

    @property
    def best_objective(self) -> Objective | None:
        """By what the best run is chosen where a reference names no metric; None if nothing says it."""
        return self.own_objective or (best_value_of(HELDOUT_ACCURACY) if self.is_engine else None)

    @property
    def own_objective(self) -> Objective | None:
        """The objective that the step says."""
        return self.objective if self.best_by is None else best_value_of(self.best_by)

    @property
    def grid(self) -> Grid:
        """The variants and axes."""
        return Grid(self.variants, self.axes)

    @property
    def step_grid(self) -> StepGrid:
        """The grid with the base, as it is written: with its references."""
        return StepGrid(self.base, self.grid, self.pack, self.max_parallel)

    @property
    def is_engine(self) -> bool:
        """Whether the runs are of the engine."""
        return kind_of(self.base) == "engine"

    @property
    def size(self) -> int | None:
        """The number of runs; None if it is known only when other steps have ended."""
        return None if self.over else self.grid.size

    @cached_property
    def references(self) -> list[Reference]:
        """All references, also those of the condition; raise ReferenceIssue."""
        found = [parse_reference(one.inside) for one in self.find_references()]
        return found + (references_in(parse_condition(self.when)) if self.when else [])

    @property
    def is_known(self) -> bool:
        """Whether the runs are known before any other step has ended."""
        return not self.over and next(self.find_references(), None) is None

    def find_references(self) -> Iterator[FoundReference]:
        """Yield the references of base, grid and `over`, each with its path in the document of the step."""
        yield from find_references(self.base, "base")
        yield from find_references(dict(self.axes), "axes")
        yield from find_references(list(self.variants), "variants")
        yield from find_references(dict(self.over), "over")

    @model_validator(mode="after")
    def _check_objective(self) -> Self:
        if self.best_by is not None and self.objective is not None:
            message = "a step has either `best_by` or `objective`"
            raise validation_error([ValidationIssue(path="best_by", message=message)])
        return self

    def needed(self) -> list[str]:
        """Return the names of the steps that this one needs, also of those to which it refers; raise ReferenceIssue."""
        return list(dict.fromkeys([*self.needs, *(reference.step for reference in self.references)]))


def with_objective(steps: Sequence[StepSpec], objective: Objective | None) -> list[StepSpec]:
    """Return the steps of a workflow, those that have no objective of their own with the workflow's."""
    if objective is None:
        return list(steps)
    has_none = [step.own_objective is None for step in steps]
    given = {"objective": objective}
    return [step.model_copy(update=given) if bare else step for step, bare in zip(steps, has_none, strict=True)]
