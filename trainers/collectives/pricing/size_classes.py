"""The cheapest plan for each size class: the choice of `auto`.

A size class holds the sizes of one bit length b, 2^(b-1) <= S < 2^b bytes; its price is the price of 3/4 2^b bytes.
"""

from collections.abc import Sequence

from trainers.collectives.plan import Plan
from trainers.collectives.pricing.price import Price

LARGEST = 32  # bits: larger vectors use the plan for 3 GiB


def cheapest_by_size(prices: Sequence[Price]) -> list[tuple[int, Plan]]:
    """Return pairs of the least size in bytes and the cheapest plan from this size up to the size of the next pair."""
    found: list[tuple[int, Plan]] = []
    for bits in range(1, LARGEST + 1):
        best = min(prices, key=lambda one: one.runner_seconds(3 << bits >> 2))
        if not found or best.plan is not found[-1][1]:
            found.append((1 << bits >> 1 if found else 0, best.plan))
    return found
