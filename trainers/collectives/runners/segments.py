"""The segments of a vector: they pass through the rounds of a plan in a pipeline."""

from collections import Counter

SEGMENT_BYTES = 2 << 20
# The first segments have an eighth, a quarter and a half of the length, so links between hosts get work early; the
# last segments mirror the first, so the links have work until late.
RAMP = (3, 2, 1)


def segment_counts(elements: int, element_bytes: int) -> dict[int, int]:
    """Return how many segments have each number of elements, that of the first segment first."""
    longest = max(SEGMENT_BYTES // element_bytes, 1)
    ramp = [longest >> shift for shift in RAMP]
    middle = elements - 2 * sum(ramp)
    counts: Counter[int] = Counter()
    if middle < longest:
        whole, rest = divmod(elements, longest)
        counts.update({longest: whole, rest: int(rest > 0)})
    else:
        count = -(-middle // longest)
        counts.update(dict.fromkeys(ramp, 2))
        counts.update({middle // count + 1: middle % count, middle // count: count - middle % count})
    return {length: number for length, number in counts.items() if number}


def segment_lengths(elements: int, element_bytes: int) -> list[int]:
    """Return the number of elements of each segment."""
    longest = max(SEGMENT_BYTES // element_bytes, 1)
    ramp = [longest >> shift for shift in RAMP]
    middle = elements - 2 * sum(ramp)
    if middle < longest:
        whole, rest = divmod(elements, longest)
        return [longest] * whole + [rest] * (rest > 0)
    count = -(-middle // longest)
    even = [(i + 1) * middle // count - i * middle // count for i in range(count)]
    return [*ramp, *even, *reversed(ramp)]
