"""The space of a search: which of its parameters a trial sets, in which order, and the points of a grid."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import floor
from typing import Any

from contract.spec.grid.dotted_paths import overlap, path_issues
from contract.spec.grid.grid import Values
from contract.spec.search.parameters import Choice, Integer, Parameter, Uniform, has_value
from contract.validation import ValidationIssue

Space = Mapping[str, Parameter]  # dotted path of a run's field -> its distribution
MAX_PARAMETERS = 100
MAX_FINITE = 10_000  # points of a space of which a search ends with the last one


def draw(space: Space, choose: Callable[[str, Parameter], Any]) -> Values:
    """Return the values of a trial: `choose` is called for each parameter that the trial sets, conditions first."""
    values: Values = {}
    for path in ordered(space):
        if is_set(space[path], values):
            values[path] = choose(path, space[path])
    return values


def ordered(space: Space) -> list[str]:
    """Return the paths so that each comes after the parameters of its conditions; in the document's order otherwise.

    Parameters whose conditions depend on each other come last, in the document's order.
    """
    found: list[str] = []
    rest = list(space)
    while ready := [path for path in rest if all(name in found or name not in space for name in space[path].only_if)]:
        found += ready
        rest = [path for path in rest if path not in found]
    return [*found, *rest]


def is_set(parameter: Parameter, values: Mapping[str, Any]) -> bool:
    """Return whether a trial that has `values` of the conditions sets the parameter."""
    return all(
        path in values and any(has_value(Choice(values=[values[path]]), one) for one in listed)
        for path, listed in parameter.only_if.items()
    )


def grid_values(parameter: Parameter) -> list[Any] | None:
    """Return the values of a parameter in a grid, in order; None if it has no steps."""
    match parameter:
        case Choice(values=values):
            return values
        case Integer(low=low, high=high, step=step) if (high - low) // step <= MAX_FINITE:
            return list(range(low, high + 1, step))
        case Uniform(low=low, high=high, step=step) if step is not None and (high - low) / step <= MAX_FINITE:
            # 0.3, not 0.30000000000000004
            return [float(f"{low + step * number:.12g}") for number in range(floor((high - low) / step + 1e-9) + 1)]
        case _:
            return None


def grid_points(space: Space, limit: int) -> list[Values]:
    """Return the points of the grid of a space, the last parameter varying fastest; at most `limit` + 1 of them."""
    paths, points = ordered(space), list[Values]()

    def add(number: int, values: Values) -> None:
        if len(points) > limit:
            return
        if number == len(paths):
            points.append(values)
            return
        path = paths[number]
        if not is_set(space[path], values):
            add(number + 1, values)
            return
        for value in grid_values(space[path]) or ():
            add(number + 1, {**values, path: value})

    add(0, {})
    return points


def finite_points(space: Space) -> list[Values] | None:
    """Return all points of a space that has at most MAX_FINITE; None of a larger one."""
    if any(grid_values(parameter) is None for parameter in space.values()):
        return None
    points = grid_points(space, MAX_FINITE)
    return points if len(points) <= MAX_FINITE else None


def space_issues(space: Space, fields: Sequence[str]) -> Iterator[ValidationIssue]:
    """Yield an issue for each path or condition that is wrong; `fields`: those that a run has."""
    if not space:
        yield ValidationIssue(path="space", message="the search has no parameters")
    if len(space) > MAX_PARAMETERS:
        message = f"{len(space):,} parameters are more than the limit of {MAX_PARAMETERS}"
        yield ValidationIssue(path="space", message=message)
        return
    for path, parameter in space.items():
        yield from path_issues(f"space.{path}", path, fields)
        for other in space:
            if path != other and overlap(path, other) and len(path) >= len(other):
                yield ValidationIssue(path=f"space.{path}", message=f"the parameter '{other}' also sets this field")
        for name, listed in parameter.only_if.items():
            yield from _condition_issues(space, path, name, listed)
    yield from _circle_issues(space)


def _condition_issues(space: Space, path: str, name: str, listed: Sequence[Any]) -> Iterator[ValidationIssue]:
    where, other = f"space.{path}.only_if.{name}", space.get(name)
    if other is None:
        yield ValidationIssue(path=where, message=f"the space has no parameter '{name}': it has {', '.join(space)}")
    elif not isinstance(other, Choice):
        message = f"'{name}' is of the kind {other.kind}: a condition needs a parameter of the kind choice"
        yield ValidationIssue(path=where, message=message)
    else:
        for value in listed:
            if not has_value(other, value):
                yield ValidationIssue(path=where, message=f"{value!r} is none of the values of '{name}'")


def _circle_issues(space: Space) -> Iterator[ValidationIssue]:
    found = set[str]()
    for path in ordered(space):
        known = [name for name in space[path].only_if if name in space]
        if any(name not in found for name in known):
            message = f"the conditions go round in a circle: {path} depends on {', '.join(known)}"
            yield ValidationIssue(path=f"space.{path}.only_if", message=message)
        else:
            found.add(path)
