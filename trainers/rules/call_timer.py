"""What a rule is told of the clock: a wrapper that makes a call count as communication, or as the update."""

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Timed(Protocol):
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...


def untimed(function: Callable[P, R], /) -> Callable[P, R]:
    """Return the function as it is."""
    return function
