"""Checks of a search against the run that it varies, at the submission of an experiment."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from contract.spec.any_run import AnyRun
from contract.spec.grid.dotted_paths import overlap, path_issues
from contract.spec.grid.grid import Values
from contract.spec.search.early_stopping import MedianStopping, NoStopping
from contract.spec.search.parameters import Choice, Parameter, has_value
from contract.spec.search.population import population_issues
from contract.spec.search.samplers import MAX_TRIALS, CmaEsSampler, GridSampler, ListSampler, PopulationSampler
from contract.spec.search.search import SearchSpec
from contract.spec.search.space import draw, grid_points, grid_values, ordered, space_issues
from contract.validation import ValidationIssue

FIXED = ("initial_weights", "resources.kind", "kind", "code")  # every trial has the base's


def search_issues(search: SearchSpec, base: AnyRun) -> Iterator[ValidationIssue]:
    """Yield an issue for each field of a search that is wrong or contradicts the base run, by its path in the search.

    Whether the values make valid runs is checked by its points.
    """
    fields = list(type(base).model_fields)
    if found := list(space_issues(search.space, fields)):
        yield from found
        return
    for path in search.space:
        if any(overlap(path, fixed) for fixed in FIXED):
            yield ValidationIssue(path=f"space.{path}", message="all trials of a search have this field in common")
    yield from _number_issues(search)
    yield from _repeat_issues(search, base, fields)
    yield from _stopping_issues(search, base)
    if isinstance(search.sampler, PopulationSampler):
        yield from population_issues(search, search.sampler, base)


def last_resource(search: SearchSpec, base: AnyRun) -> float | None:
    """Return the resource of a whole trial in the unit of the early stopping; None if it is not known."""
    rule = search.early_stopping
    if isinstance(rule, NoStopping) or rule.last is not None:
        return None if isinstance(rule, NoStopping) else rule.last
    if rule.unit == "epochs":
        return None if base.total_epochs is None else float(base.total_epochs)
    return float(base.steps) or None if rule.unit == "steps" else None


def _number_issues(search: SearchSpec) -> Iterator[ValidationIssue]:
    sampler = search.sampler
    if isinstance(sampler, GridSampler):
        for path, parameter in search.space.items():
            if grid_values(parameter) is None:
                message = (
                    f"a grid needs steps, and {parameter.kind} has none: use choice, integer, or uniform with step"
                )
                yield ValidationIssue(path=f"space.{path}", message=message)
        if len(grid_points(search.space, MAX_TRIALS)) > MAX_TRIALS:
            yield ValidationIssue(path="space", message=f"the grid has more points than the limit of {MAX_TRIALS:,}")
    elif isinstance(sampler, ListSampler):
        yield from _list_issues(search, sampler)
    elif search.trials is None:
        yield ValidationIssue(path="trials", message=f"the sampler {sampler.kind} draws any number: say how many")
    if isinstance(sampler, CmaEsSampler) and all(isinstance(one, Choice) for one in search.space.values()):
        message = "CMA-ES adapts numbers, and all parameters are choices: use tpe or random"
        yield ValidationIssue(path="sampler.kind", message=message)


def _list_issues(search: SearchSpec, sampler: ListSampler) -> Iterator[ValidationIssue]:
    if sampler.file is not None:
        message = "the service reads no file: submit by the command or the Python client, which send its points"
        yield ValidationIssue(path="sampler.file", message=message)
    elif not sampler.points:
        yield ValidationIssue(path="sampler.points", message="the list has no points")
    for number, point in enumerate(sampler.points):
        where = f"sampler.points.{number}"
        for path in [path for path in point if path not in search.space]:
            message = f"the space has no such parameter: it has {', '.join(search.space)}"
            yield ValidationIssue(path=f"{where}.{path}"[:200], message=message)
        wanted = draw(search.space, partial(_listed, point))
        for path in [path for path in ordered(search.space) if (path in wanted) is not (path in point)]:
            reason = "the point lacks this parameter" if path in wanted else "its conditions do not hold at this point"
            yield ValidationIssue(path=f"{where}.{path}", message=reason)
        for path, value in point.items():
            parameter = search.space.get(path)
            if isinstance(parameter, Choice) and not has_value(parameter, value):
                yield ValidationIssue(path=f"{where}.{path}", message=f"{value!r} is none of the values of '{path}'")


def _listed(point: Values, path: str, _: Parameter) -> Any:
    return point.get(path)


def _repeat_issues(search: SearchSpec, base: AnyRun, fields: Sequence[str]) -> Iterator[ValidationIssue]:
    repeats = search.repeats
    if repeats is None:
        return
    if issues := list(path_issues("repeats.path", repeats.path, fields)):
        yield from issues
        return
    if any(overlap(repeats.path, path) for path in search.space):
        yield ValidationIssue(path="repeats.path", message="the space sets this field already")
    if repeat_start(base, repeats.path) is None:
        message = f"the base run has no whole number at '{repeats.path}', from which the repeats could count"
        yield ValidationIssue(path="repeats.path", message=message)


def repeat_start(base: AnyRun, path: str) -> int | None:
    """Return the whole number that the base run has at a dotted path; None if it has none there."""
    value: Any = base.model_dump(mode="json")
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _stopping_issues(search: SearchSpec, base: AnyRun) -> Iterator[ValidationIssue]:
    rule = search.early_stopping
    if isinstance(rule, NoStopping):
        return
    where = "early_stopping"
    if rule.unit == "epochs" and base.kind != "engine":
        message = "a program's epochs are not known: use steps, or seconds if it logs the series trained_s"
        yield ValidationIssue(path=f"{where}.unit", message=message)
        return
    last = last_resource(search, base)
    if last is None:
        what = "the steps of the program are not known" if rule.unit == "steps" else "seconds have no end of their own"
        yield ValidationIssue(path=f"{where}.last", message=f"{what}: say the resource of a whole trial")
    elif rule.first >= last:
        unit = rule.unit.replace("_", " ")
        message = f"the first comparison at {rule.first:g} {unit} is not before the end of a trial at {last:g}"
        yield ValidationIssue(path=f"{where}.first", message=message)
    for path in ("epochs", "batch", "batch_stages"):
        if path in search.space and (path == "epochs" or rule.unit == "steps"):
            message = f"'{path}' is a parameter, so trials would differ in their {rule.unit}: compare by another unit"
            yield ValidationIssue(path=f"{where}.unit", message=message)
    if isinstance(rule, MedianStopping) and rule.trials >= MAX_TRIALS:
        yield ValidationIssue(path=f"{where}.trials", message=f"a search has at most {MAX_TRIALS:,} trials")
