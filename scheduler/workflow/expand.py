"""The runs of a step whose needs have ended: its condition, its references and lists, its points."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from contract.lifecycle.step import ConditionFalse, EmptyList, StepReason, StepState
from contract.spec.grid.grid import Grid
from contract.spec.grid.step_grid import Points, StepGrid
from contract.spec.steps.condition import failed_comparison, parse_condition, references_in
from contract.spec.steps.fill import COMMAND, ValueOf, fill, fill_run
from contract.spec.steps.reference import Reference, ReferenceIssue, Wanted, find_references, parse_reference
from contract.spec.steps.step import StepSpec
from contract.validation import ValidationIssue
from orders.checks.initial_weights import find_weights
from scheduler.context import Context
from scheduler.workflow.lists import checked, read_list
from scheduler.workflow.resolve import Chosen, FolderOf, NotResolvedError, choose_all, value_of
from store.lifecycle.new_steps import specs_of
from store.session import snapshot

MOST_NAMED = 3  # issues in a reason


class NewRuns(NamedTuple):
    """The runs of a step, or how it ends without any."""

    points: Points = []
    end: StepState | None = None  # None: it has runs
    reason: StepReason | None = None


class Needed(NamedTuple):
    """The specs of an experiment's steps, and the runs that references of some of them are about."""

    specs: Mapping[str, StepSpec]
    chosen: Mapping[Reference, Chosen | NotResolvedError]

    def values(self, references: Iterable[Reference], folder_of: FolderOf) -> dict[Reference, Any]:
        """Return the values of references, which may be in run folders; raise NotResolvedError."""
        return {reference: value_of(reference, self.runs(reference), folder_of) for reference in references}

    def runs(self, reference: Reference) -> Chosen:
        """Return the runs of a reference; raise NotResolvedError."""
        if isinstance(found := self.chosen[reference], NotResolvedError):
            raise found
        return found


def read_needed(context: Context, experiment_id: int, ids: Mapping[str, int], names: Collection[str]) -> Needed:
    """Return what the steps with these names need of others; `ids`: of all steps of the experiment by name."""
    with snapshot(context.engine) as db:
        specs = {step.name: step for step in specs_of(db, experiment_id)}
        references = dict.fromkeys(reference for name in names for reference in specs[name].references)
        return Needed(specs, choose_all(db, references, specs, ids) if references else {})


def find_runs(context: Context, needed: Needed, name: str) -> NewRuns:
    """Return the runs of a step whose needs have ended; raise NotResolvedError, or OSError if a folder is away.

    It reads run folders, outside any transaction.
    """
    step = needed.specs[name]
    conditions = parse_condition(step.when) if step.when else []
    values = needed.values(references_in(conditions), context.folder_of)
    if comparison := failed_comparison(conditions, values.__getitem__):
        return NewRuns(end=StepState.SKIPPED, reason=ConditionFalse(comparison=comparison))
    references = dict.fromkeys(parse_reference(one.inside) for one in step.find_references())
    values = needed.values(references, context.folder_of)
    lists = {path: _list_of(context, text, needed, values) for path, text in step.over.items()}
    if empty := next((path for path, found in lists.items() if not found), None):
        return NewRuns(end=StepState.DONE, reason=EmptyList(reference=step.over[empty]))
    return NewRuns(_with_weights(context, _points(step, values, lists)))


def _list_of(context: Context, text: str, needed: Needed, values: Mapping[Reference, Any]) -> list[Any]:
    """Return the values of an axis that `over` names: those of the reference, or of the file that it stands for."""
    reference = parse_reference(next(find_references(text)).inside)
    value = values[reference]
    if isinstance(value, list):
        return checked(value, reference=reference.text)
    if reference.wanted is not Wanted.OUTPUT:
        raise NotResolvedError(f"{reference.text} is {value!r}, and a list is needed")
    file = needed.runs(reference).files[0]
    assert file is not None  # else the reference has no value
    return read_list(context.folder_of(file.holder).path, file.path, reference=reference.text)


def _points(step: StepSpec, values: Mapping[Reference, Any], lists: Mapping[str, list[Any]]) -> Points:
    """Return the points of the step's grid with its references filled in; raise NotResolvedError for what is wrong."""
    lookup = values.__getitem__
    try:
        base = fill_run(step.base, lookup)
        axes = {path: _filled(path, each, lookup) for path, each in step.axes.items()}
        variants = [{path: _filled(path, [value], lookup)[0] for path, value in one.items()} for one in step.variants]
    except ReferenceIssue as error:
        raise NotResolvedError(str(error)) from error
    grid = StepGrid(base, Grid(variants, {**axes, **lists}), step.pack, step.max_parallel)
    points, issues = grid.expand()
    if issues:
        raise NotResolvedError(describe_issues(issues))
    return points


def _filled(path: str, values: list[Any], lookup: ValueOf) -> list[Any]:
    if path == COMMAND:
        return [fill_run({COMMAND: value}, lookup)[COMMAND] for value in values]
    return [fill(value, lookup) for value in values]


def _with_weights(context: Context, points: Points) -> Points:
    """Return the points with the folders and checkpoints of their initial weights; raise NotResolvedError."""
    found, issues = find_weights(context.engine, points, context.runs_folder)
    if issues:
        raise NotResolvedError(describe_issues([issue for _, issue in issues]))
    return found


def describe_issues(issues: list[ValidationIssue]) -> str:
    """Return the first issues in one line."""
    more = f"; and {len(issues) - MOST_NAMED} more" if len(issues) > MOST_NAMED else ""
    return "; ".join(f"{issue.path}: {issue.message}" for issue in issues[:MOST_NAMED]) + more
