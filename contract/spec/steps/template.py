"""The check of runs whose fields refer to other steps, before the values are known.

Each reference is replaced by a value of its type, and the run is read. What is wrong elsewhere in the run is reported;
of a field with a reference only whether the type can fit. Checks across fields are left out where a number is not
known yet: they are carried out when the step starts.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from contract.spec.any_run import read_run
from contract.spec.grid.dotted_paths import overlap
from contract.spec.grid.step_grid import MAX_ISSUES, with_values
from contract.spec.steps.fill import fill_run
from contract.spec.steps.reference import FoundReference, Reference, ReferenceIssue, find_references, parse_reference
from contract.spec.steps.step import StepSpec
from contract.spec.steps.types import Described, describe_reference
from contract.validation import ValidationIssue, issues_from_details

OF_TYPES = ("_type", "_parsing", "union_tag_not_found", "union_tag_invalid", "missing")
ACROSS_FIELDS = "invalid_spec"


class _Template(NamedTuple):
    """One run with references."""

    document: dict[str, Any]
    found: list[FoundReference]
    types: Mapping[str, Described]  # by the text inside the braces


def check_templates(step: StepSpec, steps: Mapping[str, StepSpec]) -> list[ValidationIssue]:
    """Return the issues of a step's runs, with paths in the document of the step, each for its first point."""
    if issues := [*step.step_grid.grid_issues(), *_over_issues(step, steps)]:
        return issues
    unknown = dict.fromkeys(step.over, "")  # values that are known later
    issues = []
    seen: set[tuple[str, str]] = set()
    for number, (_, document) in enumerate(step.step_grid.documents()):
        for issue in _run_issues(with_values(document, unknown), steps, tuple(step.over)):
            if (issue.path, issue.message) not in seen:
                seen.add((issue.path, issue.message))
                issues.append(issue.model_copy(update={"path": step.grid.path_in_document(issue.path, number)}))
        if len(issues) >= MAX_ISSUES:
            break
    return issues[:MAX_ISSUES]


def sample_run(step: StepSpec, steps: Mapping[str, StepSpec]) -> dict[str, Any]:
    """Return the document of a step's first run, with values of the right types for its references."""
    document = next(step.step_grid.documents())[1]
    filled = fill_run(document, lambda reference: describe_reference(reference, steps).sample)
    try:
        return read_run(filled).model_dump(mode="json")
    except ValidationError:  # a number stands for another one
        return filled


def _over_issues(step: StepSpec, steps: Mapping[str, StepSpec]) -> Iterator[ValidationIssue]:
    """Yield an issue for each axis of `over` that is no reference to a list, or that the grid sets as well."""
    for path, text in step.over.items():
        where = f"over.{path}"
        found = list(find_references(text))
        if len(found) != 1 or not found[0].is_whole:
            yield ValidationIssue(path=where, message="expected one reference to a list, and nothing beside it")
            continue
        reference = parse_reference(found[0].inside)
        described = describe_reference(reference, steps)
        if not isinstance(described.sample, list) and not _may_hold_list(described):
            message = f"{reference.text} is {described.words}, and `over` needs a list: an output, or all values"
            yield ValidationIssue(path=where, message=message)
        if clash := next((other for other in step.grid.paths if overlap(path, other)), None):
            yield ValidationIssue(path=where, message=f"the grid sets '{clash}' already")


def _may_hold_list(described: Described) -> bool:
    return described.words == "the path of a file" or (described.words == "a value" and not described.is_number)


def _run_issues(
    document: dict[str, Any], steps: Mapping[str, StepSpec], later: tuple[str, ...]
) -> list[ValidationIssue]:
    """Return the issues of one run; `later`: paths whose values are known later and may have any type."""
    found = list(find_references(document))
    types = {one.inside: describe_reference(parse_reference(one.inside), steps) for one in found}
    template = _Template(document, found, types)
    try:
        filled = fill_run(document, lambda reference: _sample(reference, template))
    except ReferenceIssue as error:
        return [ValidationIssue(path=_path_of(template, str(error)), message=str(error))]
    try:
        run = read_run(filled)
    except ValidationError as error:
        return list(_issues_of(error, template, later))
    return [] if _is_open(template, later) else list(run.new_run_issues())


def _sample(reference: Reference, template: _Template) -> Any:
    return next(
        described.sample for inside, described in template.types.items() if parse_reference(inside) == reference
    )


def _path_of(template: _Template, message: str) -> str:
    """Return the place of the reference that a message names."""
    return next((one.path for one in template.found if one.inside in message), "")


def _is_open(template: _Template, later: tuple[str, ...]) -> bool:
    """Return whether a value that checks across fields need is not known yet."""
    numbers = any(template.types[one.inside].is_number and one.is_whole for one in template.found)
    return bool(later) or numbers


def _issues_of(error: ValidationError, template: _Template, later: tuple[str, ...]) -> Iterator[ValidationIssue]:
    for detail in error.errors(include_url=False, include_input=False):
        for issue in issues_from_details([dict(detail)]):
            if any(overlap(issue.path, path) for path in later):
                continue
            here = next((one for one in template.found if one.is_whole and overlap(issue.path, one.path)), None)
            if here is not None and here.path != "command":
                if detail["type"].endswith(OF_TYPES):
                    words = template.types[here.inside].words
                    message = f"{{steps.{here.inside}}} is {words}, which does not fit this field: {issue.message}"
                    yield ValidationIssue(path=here.path, message=message)
            elif detail["type"] != ACROSS_FIELDS or not _is_open(template, later):
                yield issue
