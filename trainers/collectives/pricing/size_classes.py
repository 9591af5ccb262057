"""Which plan is cheapest for a vector, decided once for each class of sizes: what "auto" takes.

A class is the sizes of one bit length b, 2^(b-1) <= S < 2^b bytes; its price is taken in its middle, 3/4 2^b.
"""

from collections.abc import Sequence

from trainers.collectives.plan import Plan
from trainers.collectives.pricing.price import Price

LARGEST = 32  # bits: what is larger is decided as a vector of 3 GiB is


def cheapest(prices: Sequence[Price]) -> list[tuple[int, Plan]]:
    """The cheapest plans: each for vectors from so many bytes on, up to where the next one begins."""
    found: list[tuple[int, Plan]] = []
    for bits in range(1, LARGEST + 1):
        best = min(prices, key=lambda one: one.by_runner(3 << bits >> 2))
        if not found or best.plan is not found[-1][1]:
            found.append((1 << bits >> 1 if found else 0, best.plan))
    return found
