"""Conditions of steps: `when: steps.probe.best.loss < 2`, comparisons of figures and numbers, joined by `and`."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from contract.spec.steps.reference import Reference, ReferenceIssue, parse_reference

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
COMPARISON = re.compile(r"\s*(.+?)\s*(<=|>=|==|!=|<|>)\s*(.+?)\s*")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
FORM = "expected a comparison as steps.probe.best.loss < 2, or several joined by `and`"


class Comparison(NamedTuple):
    """Two numbers that are compared."""

    left: Reference | float
    sign: str
    right: Reference | float


def parse_condition(text: str) -> list[Comparison]:
    """Return the comparisons of a condition, all of which must hold; raise ReferenceIssue."""
    return [_comparison(part) for part in re.split(r"\s+and\s+", text)]


def references_in(comparisons: list[Comparison]) -> list[Reference]:
    """Return the references that the comparisons have."""
    sides = [side for one in comparisons for side in (one.left, one.right)]
    return [side for side in sides if isinstance(side, Reference)]


def failed_comparison(comparisons: list[Comparison], value_of: Callable[[Reference], float]) -> str | None:
    """Return the first comparison that does not hold, with its numbers; None if all hold."""
    for one in comparisons:
        left, right = (value_of(side) if isinstance(side, Reference) else side for side in (one.left, one.right))
        if not OPERATORS[one.sign](left, right):
            return f"{_side(one.left, left)} {one.sign} {_side(one.right, right)} does not hold"
    return None


def _comparison(text: str) -> Comparison:
    found = COMPARISON.fullmatch(text)
    if found is None:
        raise ReferenceIssue(f"'{text[:100].strip()}' is no condition: {FORM}")
    comparison = Comparison(_operand(found[1]), found[2], _operand(found[3]))
    if not references_in([comparison]):
        raise ReferenceIssue(f"'{text[:100].strip()}' names no step: {FORM}")
    return comparison


def _operand(text: str) -> Reference | float:
    if NUMBER.fullmatch(text):
        return float(text)
    bare = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    if not bare.startswith("steps."):
        raise ReferenceIssue(f"'{text[:100]}' is neither a number nor a reference: {FORM}")
    return parse_reference(bare.removeprefix("steps."))


def _side(side: Reference | float, value: float) -> str:
    return f"{side.text[1:-1]} = {value:g}" if isinstance(side, Reference) else f"{value:g}"
