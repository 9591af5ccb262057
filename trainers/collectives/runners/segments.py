"""How the runner cuts a vector: segments that follow each other through the plan in a pipeline."""

SEGMENT_BYTES = 2 << 20
RAMP = (3, 2, 1)  # at both ends segments of an eighth, a quarter, a half: links between hosts start soon and end late


def lengths(elements: int, element_bytes: int) -> list[int]:
    """Return how many elements each segment has."""
    longest = max(SEGMENT_BYTES // element_bytes, 1)
    ramp = [longest >> shift for shift in RAMP]
    middle = elements - 2 * sum(ramp)
    if middle < longest:
        whole, rest = divmod(elements, longest)
        return [longest] * whole + [rest] * (rest > 0)
    count = -(-middle // longest)
    even = [(i + 1) * middle // count - i * middle // count for i in range(count)]
    return [*ramp, *even, *reversed(ramp)]
