"""A query about runs as a tree, with the places of its words in the text, for messages."""

from dataclasses import dataclass
from typing import NamedTuple

Operator = str  # one of = != < <= > >= ~ !~


class Place(NamedTuple):
    """A part of a query's text."""

    start: int
    end: int


class QueryError(ValueError):
    """The query has no meaning, and why; `place` is the part of the text that is wrong."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.message, self.place = message, place


@dataclass(frozen=True)
class Name:
    """A field as a query names it: `batch`, or with a figure `best(loss)`."""

    text: str
    place: Place
    figure: str | None = None


@dataclass(frozen=True)
class Value:
    """A value of a query; a quoted one is a text."""

    text: str
    place: Place
    is_quoted: bool = False


@dataclass(frozen=True)
class Comparison:
    """`name operator value`."""

    name: Name
    operator: Operator
    value: Value


@dataclass(frozen=True)
class IsIn:
    """`name in (values)`."""

    name: Name
    values: tuple[Value, ...]


@dataclass(frozen=True)
class HasText:
    """A quoted text without a name: the labels of the run or of its experiment have the text."""

    text: str


@dataclass(frozen=True)
class Not:
    """The opposite of a query."""

    of: "Query"


@dataclass(frozen=True)
class All:
    """Every part holds."""

    parts: "tuple[Query, ...]"


@dataclass(frozen=True)
class Any:
    """At least one part holds."""

    parts: "tuple[Query, ...]"


Query = Comparison | IsIn | HasText | Not | All | Any


@dataclass(frozen=True)
class Order:
    """A field by whose values runs are sorted."""

    name: Name
    is_descending: bool
