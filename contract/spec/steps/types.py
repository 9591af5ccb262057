"""The type of what a reference stands for, as far as the spec shows it."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from contract.spec.objective import Objective, best_value_of
from contract.spec.steps.reference import Reference, ReferenceIssue, Selection, Wanted, has_references
from contract.spec.steps.step import StepSpec

ABSENT = object()


class Described(NamedTuple):
    """What a reference stands for: words for a message, and a value of the same type."""

    words: str
    sample: Any
    is_number: bool = False


def describe_reference(reference: Reference, steps: Mapping[str, StepSpec]) -> Described:
    """Return the type of a reference to one of `steps`; raise ReferenceIssue for what the step does not have."""
    step = steps[reference.step]
    _check_selection(reference, step)
    one = _DESCRIBE[reference.wanted](reference, step)
    if reference.selection is Selection.ALL:
        return Described(f"a list with {one.words} of every run", [one.sample], one.is_number)
    return one


def objective_of(reference: Reference, step: StepSpec) -> Objective | None:
    """Return by what the best run of a reference is chosen: the metric that it names, else the step's objective."""
    own = step.best_objective
    if reference.wanted is not Wanted.METRIC or (own is not None and own.metric == reference.name):
        return own
    return best_value_of(reference.name)


def _check_selection(reference: Reference, step: StepSpec) -> None:
    if reference.selection is Selection.ONLY and step.size != 1:
        runs = "a number of runs that is not known yet" if step.size is None else f"{step.size:,} runs"
        raise ReferenceIssue(
            f"{reference.text} is one value, and step {step.name} has {runs}: write best, last or all after the name"
        )
    needs_metric = reference.selection is Selection.BEST and reference.wanted is not Wanted.METRIC
    if needs_metric and step.size != 1 and step.best_objective is None:
        raise ReferenceIssue(
            f"{reference.text}: step {step.name} does not say by which metric its best run is chosen: set its objective"
        )


def _output(reference: Reference, step: StepSpec) -> Described:
    outputs = step.base.get("outputs")
    names = [*outputs] if isinstance(outputs, Mapping) else []
    if reference.name not in names:
        meant = get_close_matches(reference.name, names, 1)
        there = f"its outputs are {', '.join(names)}" if names else "it has no outputs"
        hint = f"; did you mean '{meant[0]}'?" if meant else ""
        raise ReferenceIssue(f"{reference.text}: step {step.name} has no output '{reference.name}', {there}{hint}")
    return Described("the path of a file", f"/steps/{step.name}/{reference.name}")


def _checkpoint(reference: Reference, step: StepSpec) -> Described:
    policy = step.base.get("checkpoint")
    varies = any(path.split(".")[0] == "checkpoint" for path in step.grid.paths)
    if step.is_engine and not varies and not (isinstance(policy, Mapping) and policy.get("at_end") is True):
        raise ReferenceIssue(
            f"{reference.text}: the runs of step {step.name} save no checkpoint after their last step: set "
            "checkpoint.at_end"
        )
    return Described("the path of a checkpoint", f"/steps/{step.name}/checkpoint")


def _folder(reference: Reference, step: StepSpec) -> Described:
    return Described("the path of a run folder", f"/steps/{step.name}")


def _run(reference: Reference, step: StepSpec) -> Described:
    return Described("the id of a run, a number", 1, is_number=True)


def _metric(reference: Reference, step: StepSpec) -> Described:
    return Described("a number", 1, is_number=True)


def _field(reference: Reference, step: StepSpec) -> Described:
    values = [field_of(document, reference.name) for _, document in step.step_grid.documents()]
    known = [value for value in values if value is not ABSENT]
    if not known and reference.name not in step.over:
        raise ReferenceIssue(f"{reference.text}: the runs of step {step.name} set no field '{reference.name}'")
    if not known or has_references(known[0]):
        return Described("a value", "")
    is_number = isinstance(known[0], int | float) and not isinstance(known[0], bool)
    return Described("a number" if is_number else "a value", known[0], is_number)


def field_of(document: Any, path: str) -> Any:
    """Return the field of a document at a dotted path; ABSENT if there is none."""
    for name in path.split("."):
        if not isinstance(document, Mapping) or name not in document:
            return ABSENT
        document = document[name]
    return document


_DESCRIBE: Mapping[Wanted, Callable[[Reference, StepSpec], Described]] = {
    Wanted.OUTPUT: _output,
    Wanted.CHECKPOINT: _checkpoint,
    Wanted.FOLDER: _folder,
    Wanted.RUN: _run,
    Wanted.SPEC: _field,
    Wanted.METRIC: _metric,
}
