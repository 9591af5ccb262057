"""The grid that a torus is laid on: one row per host where that fits, else the squarest there is."""

from collections.abc import Sequence
from itertools import groupby
from math import isqrt


def rows(hosts: Sequence[str]) -> int:
    """Return how many rows the ranks on these hosts make; `hosts[r]` is the host of rank r.

    A world that is prime and not laid out host by host makes one row, which is a ring.
    """
    world = len(hosts)
    runs = [len(list(run)) for _, run in groupby(hosts)]
    if len(set(runs)) == 1 and len(runs) == len(set(hosts)):
        return len(runs)
    return max(count for count in range(1, isqrt(world) + 1) if world % count == 0)
