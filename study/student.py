"""Student's t distribution for whole degrees of freedom (Abramowitz & Stegun, 1964, 26.7.3 and 26.7.4).

With theta = atan(t / sqrt(n)), c = cos theta, the probability of |T| < t is

    n odd     2/pi (theta + sin theta (c + 2/3 c^3 + ... + (2 4 ... (n-3)) / (3 5 ... (n-2)) c^(n-2)))
    n even    sin theta (1 + 1/2 c^2 + ... + (1 3 ... (n-3)) / (2 4 ... (n-2)) c^(n-2))
"""

import math


def within(t: float, freedom: int) -> float:
    """Return the probability that |T| < t (t at least 0) with `freedom` (n, at least 1) degrees of freedom."""
    theta = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2
    term, total = (math.cos(theta), 0.0) if odd else (1.0, 0.0)
    for power in range(2 + odd, freedom + 1, 2):
        total += term
        term *= (power - 1) / power * math.cos(theta) ** 2
    return 2 / math.pi * (theta + math.sin(theta) * total) if odd else math.sin(theta) * total


def critical(p: float, freedom: int) -> float:
    """Return the t that T exceeds with probability `p` (above 0, at most 1/2)."""
    low, high = 0.0, 1.0
    while within(high, freedom) < 1 - 2 * p:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if within(middle, freedom) < 1 - 2 * p else (low, middle)
    return high
