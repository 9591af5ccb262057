"""The metric by which a reader judges a run of a program, by the names of what the program logs."""

import re
from collections.abc import Iterable

from contract.metric_direction import Direction, direction_of
from contract.metric_names import (
    BATCH,
    EPOCH,
    HELDOUT_ACCURACY,
    LEARNING_RATE,
    PEAK_MEMORY_BYTES,
    SLOWEST_RANK,
    TIME_DETAILS,
    TIME_PARTS,
    TRAINED_S,
    is_secondary,
)

# settings and measurements of the engine, which no program is judged by
_BESIDE = {BATCH, EPOCH, LEARNING_RATE, PEAK_MEMORY_BYTES, SLOWEST_RANK, TRAINED_S, *TIME_PARTS, *TIME_DETAILS}
_HELD_OUT = re.compile(r"(?<![a-z])(val|valid|validation|test|eval|dev|held_?out)(?![a-z])", re.IGNORECASE)
_SPEED = re.compile(r"per_?(s|sec|second)(?![a-z])|throughput|fps|mfu|hfu|speedup|efficiency", re.IGNORECASE)
_ORDER = [Direction.HIGHER, Direction.LOWER, Direction.UNKNOWN]


def main_metric(names: Iterable[str]) -> str | None:
    """Return the name that tells most: a held-out one, then one that is better when higher, then a loss; None of none.

    Among equals the first one is taken.
    """
    own = [name for name in names if name not in _BESIDE and not is_secondary(name)]
    return min(own, key=_rank, default=None)


def _rank(name: str) -> tuple[bool, bool, bool, int]:
    direction = Direction.UNKNOWN if _SPEED.search(name) else direction_of(name)
    is_unknown = direction is Direction.UNKNOWN
    return name != HELDOUT_ACCURACY, is_unknown, not _HELD_OUT.search(name), _ORDER.index(direction)
