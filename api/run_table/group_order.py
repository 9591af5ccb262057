"""The order of groups: by fields of the grouping, by means of figures, and by the number of runs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite, isnan
from statistics import fmean
from typing import NamedTuple

from api.errors import Invalid
from api.run_table.language import parse_name, parse_orders
from api.run_table.selection import in_parameter
from contract.api.run_table import Cell
from contract.validation import ValidationIssue
from store.run_table.groups import Key, Members
from store.run_table.query import Name, Order

COUNT = "count"


class Group(NamedTuple):
    """A group before its figures are computed: of thousands, an answer shows a hundred."""

    values: Key
    members: Members


Part = Callable[[Group], Cell]  # what groups are compared by


def numbers_of(group: Group, at: int) -> list[float]:
    """Return the finite numbers that the runs of a group have for the figure of this place."""
    values = [own[at] for own in group.members.values]
    numbers = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return [number for number in numbers if isfinite(number)]


def sort_groups(groups: list[Group], sort: str | None, *, by: Sequence[str], figures: Sequence[str]) -> None:
    """Sort the groups; equal ones are in the order of their values, and those without a value come last.

    Raise Invalid for an order by something else than a field of the grouping, a figure or `count`.
    """
    groups.sort(key=lambda group: [_key(value) for value in group.values])
    if not sort or not sort.strip():
        return
    parts = _parts(by, figures)
    asked = [(_part(parts, order), order.is_descending) for order in in_parameter("sort", lambda: parse_orders(sort))]
    for part, is_descending in reversed(asked):
        _sort_by(groups, part, is_descending)


def _sort_by(groups: list[Group], part: Part, is_descending: bool) -> None:
    compared = [(part(group), group) for group in groups]
    compared.sort(key=lambda one: _key(one[0]), reverse=is_descending)
    compared.sort(key=lambda one: one[0] is None)
    groups[:] = [group for _, group in compared]


def _parts(by: Sequence[str], figures: Sequence[str]) -> dict[str, Part]:
    found: dict[str, Part] = {COUNT: _count}
    found.update({name: partial(_mean, at) for at, name in enumerate(figures)})
    found.update({name: partial(_value, at) for at, name in enumerate(by)})
    return found


def _part(parts: Mapping[str, Part], order: Order) -> Part:
    wanted = _identity(order.name)
    for name, part in parts.items():
        if _identity(parse_name(name)) == wanted:
            return part
    message = f"groups have no {order.name.text!r}: expected one of {', '.join(parts)}"
    start, end = order.name.place
    raise Invalid("the order is not valid", [ValidationIssue(path="sort", message=message, start=start, end=end)])


def _identity(name: Name) -> tuple[str, str | None]:
    return name.text, name.figure


def _count(group: Group) -> Cell:
    return group.members.runs


def _value(at: int, group: Group) -> Cell:
    return group.values[at]


def _mean(at: int, group: Group) -> Cell:
    numbers = numbers_of(group, at)
    return fmean(numbers) if numbers else None


def _key(value: Cell) -> tuple[bool, bool, float, str]:
    """Numbers come first, then texts and NaN, then no value."""
    number = float(value) if isinstance(value, int | float) and not isnan(value) else None
    return value is None, number is None, number or 0.0, str(value)
