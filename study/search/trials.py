"""Trials of a search, as the sampler is told of them and as it asks for them. Without Optuna, which loads slowly."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from contract.spec.grid.grid import Values

LEAST_TRIALS = 10  # of which the importance of parameters is computed: with fewer the figures are noise


class Outcome(StrEnum):
    """What is known of a trial."""

    OPEN = "open"  # it goes on
    STOPPED = "stopped"  # it ended early, with the value of its last comparison
    ENDED = "ended"
    UNKNOWN = "unknown"  # somebody stopped it before it had a value


class PastTrial(NamedTuple):
    """A trial of the history."""

    params: Values
    outcome: Outcome = Outcome.OPEN
    value: float | None = None  # None of a trial that ended: it failed or diverged, and counts as the worst
    rung: int = 0  # the number of comparisons that it passed or lost
    memory: Mapping[str, Any] = {}  # what the sampler noted on it


class Asked(NamedTuple):
    """A new trial."""

    number: int
    params: Values
    seed: int  # of the sampler
    memory: Mapping[str, Any]  # what the sampler must find on the trial later
