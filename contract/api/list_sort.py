"""The orders in which lists can be requested; a "-" in front of a field reverses its order."""

from enum import StrEnum


class ExperimentSort(StrEnum):
    """The orders of the list of experiments. Experiments with equal values are in the order of their ids."""

    ID = "id"
    NEWEST = "-id"
    CREATED_AT = "created_at"
    CREATED_AT_REVERSED = "-created_at"
    NAME = "name"  # by code point: capitals come before small letters
    NAME_REVERSED = "-name"


class RunSort(StrEnum):
    """The orders of the list of runs. Runs with equal values are in the order of their ids."""

    ID = "id"
    NEWEST = "-id"
    CREATED_AT = "created_at"
    CREATED_AT_REVERSED = "-created_at"
    ENDED_AT = "ended_at"  # only runs that have ended
    ENDED_AT_REVERSED = "-ended_at"
