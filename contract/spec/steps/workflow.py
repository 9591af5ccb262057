"""The steps of an experiment as a graph: who needs whom, and the checks of the whole."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter

from contract.spec.grid.grid import MAX_POINTS
from contract.spec.grid.step_grid import MAX_ISSUES, Points
from contract.spec.steps.condition import parse_condition, references_in
from contract.spec.steps.reference import Reference, ReferenceIssue, Selection, parse_reference
from contract.spec.steps.step import StepSpec
from contract.spec.steps.template import check_templates
from contract.spec.steps.types import describe_reference
from contract.validation import ValidationIssue


def needs_of(steps: Sequence[StepSpec]) -> dict[str, list[str]]:
    """Return the names of the steps that each step needs, also of those to which it only refers."""
    return {step.name: step.needed() for step in steps}


def with_descendants(steps: Sequence[StepSpec], name: str) -> set[str]:
    """Return the name of a step and the names of all that need it, directly or through others."""
    needs = needs_of(steps)
    found = {name}
    for step in TopologicalSorter(needs).static_order():  # each after those that it needs
        if not found.isdisjoint(needs[step]):
            found.add(step)
    return found


def expand_steps(steps: Sequence[StepSpec]) -> tuple[list[Points | None], list[ValidationIssue]]:
    """Return the points of each step, None of a step whose runs are known later; or the issues of the workflow."""
    if issues := [*_name_issues(steps), *_reference_issues(steps)]:
        return [], issues[:MAX_ISSUES]
    if issues := list(_cycle_issues(steps)):
        return [], issues
    by_name = {step.name: step for step in steps}
    if issues := list(_type_issues(steps, by_name)):
        return [], issues[:MAX_ISSUES]
    points: list[Points | None] = []
    for number, step in enumerate(steps):
        found, of_step = step.step_grid.expand() if step.is_known else (None, check_templates(step, by_name))
        points.append(found)
        issues += [issue.model_copy(update={"path": f"steps.{number}.{issue.path}"}) for issue in of_step]
        if len(issues) >= MAX_ISSUES:
            break
    return points, (issues or list(_size_issues(steps)))[:MAX_ISSUES]


def _name_issues(steps: Sequence[StepSpec]) -> Iterator[ValidationIssue]:
    """Yield an issue for each name that two steps have, and for each needed step that does not exist."""
    first: dict[str, int] = {}
    for number, step in enumerate(steps):
        if (earlier := first.setdefault(step.name, number)) != number:
            message = f"step {earlier} has the name '{step.name}' too: each step needs its own"
            yield ValidationIssue(path=f"steps.{number}.name", message=message)
    for number, step in enumerate(steps):
        for index, name in enumerate(step.needs):
            if name not in first:
                yield ValidationIssue(path=f"steps.{number}.needs.{index}", message=unknown_step(name, [*first]))


def _reference_issues(steps: Sequence[StepSpec]) -> Iterator[ValidationIssue]:
    """Yield an issue for each reference that cannot be read or that names no step."""
    names = [step.name for step in steps]
    for path, text in _texts(steps):
        try:
            for reference in _parse_text(text):
                if reference.step not in names:
                    yield ValidationIssue(path=path, message=unknown_step(reference.step, names))
        except ReferenceIssue as error:
            yield ValidationIssue(path=path, message=str(error))


def _texts(steps: Sequence[StepSpec]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield the place and the text of every reference and condition; true: it is a condition."""
    for number, step in enumerate(steps):
        for found in step.find_references():
            yield f"steps.{number}.{found.path}", (found.inside, False)
        if step.when:
            yield f"steps.{number}.when", (step.when, True)


def _parse_text(text: tuple[str, bool]) -> list[Reference]:
    """Return the references of a condition (true), or the one reference of another text; raise ReferenceIssue."""
    return references_in(parse_condition(text[0])) if text[1] else [parse_reference(text[0])]


def _cycle_issues(steps: Sequence[StepSpec]) -> Iterator[ValidationIssue]:
    """Yield an issue if steps wait for each other."""
    needs = needs_of(steps)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # graphlib lists each step after the one that needs it
        circle: list[str] = list(reversed(error.args[1]))
        first = min(range(len(steps)), key=lambda number: (steps[number].name not in circle, number))
        start = circle.index(steps[first].name)
        turned = [*circle[start:-1], *circle[:start], steps[first].name] if start else circle
        message = f"the steps wait for each other: {' needs '.join(turned)}"
        yield ValidationIssue(path=f"steps.{first}.needs", message=message)


def _type_issues(steps: Sequence[StepSpec], by_name: Mapping[str, StepSpec]) -> Iterator[ValidationIssue]:
    """Yield an issue for each reference to what its step does not have, and for a condition on no number."""
    for path, text in _texts(steps):
        for reference in _parse_text(text):
            try:
                described = describe_reference(reference, by_name)
            except ReferenceIssue as error:
                yield ValidationIssue(path=path, message=str(error))
                continue
            is_condition = text[1]
            if is_condition and (reference.selection is Selection.ALL or not described.is_number):
                message = f"{reference.text} is {described.words}, and a condition compares single numbers"
                yield ValidationIssue(path=path, message=message)


def _size_issues(steps: Sequence[StepSpec]) -> Iterator[ValidationIssue]:
    """Yield an issue if the steps together have more runs than an experiment may have."""
    sizes = [step.size or 1 for step in steps]
    if sum(sizes) > MAX_POINTS:
        parts = " + ".join(f"{size:,}" for size in sizes[:20]) + (" + ..." if len(sizes) > 20 else "")
        message = f"the steps have {parts} = {sum(sizes):,} runs, more than the limit of {MAX_POINTS:,}"
        yield ValidationIssue(path="steps", message=message)


def unknown_step(name: str, names: Sequence[str]) -> str:
    """Return the sentence that says which name was meant, or which names there are."""
    meant = get_close_matches(name[:60], names, 1)
    hint = f"did you mean '{meant[0]}'?" if meant else f"the steps are {', '.join(names)}"
    return f"there is no step '{name[:60]}'; {hint}"
