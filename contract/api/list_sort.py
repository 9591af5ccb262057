"""The orders in which lists can be requested. Ids are in the order of creation."""

from enum import StrEnum


class ExperimentSort(StrEnum):
    """The orders of the list of experiments; `-` reverses an order.

    Experiments with equal values are in the order of their ids. Names are in the order of their characters' code
    points, so capitals come before small letters.
    """

    ID = "id"
    NEWEST = "-id"
    NAME = "name"
    NAME_REVERSED = "-name"


class RunSort(StrEnum):
    """The orders of the list of runs; `-` reverses an order.

    Runs with equal values are in the order of their ids. A list in the order of `ended_at` has only runs that have
    ended.
    """

    ID = "id"
    NEWEST = "-id"
    ENDED_AT = "ended_at"
    ENDED_AT_REVERSED = "-ended_at"
