"""The two lemmas of Zou et al. (2017, "Distributed Training Large-Scale Deep Architectures") on ranks and servers.

G ranks whose step has an overhead of R = T_O / T_C of the computing time, which grows with G, have the speed-up

    alpha = G (1 + R) / (1 + G R)                                                                    (lemma 1)

and N_ps parameter servers with links of B bytes/s hide the exchange of S bytes of weights with N_w workers behind the
computing time T_C of a step if

    N_ps >= 2 S N_w / (B T_C)                                                                        (lemma 2)
"""

from math import ceil, inf


def speedup(ranks: int, overhead: float) -> float:
    """Return alpha; raise ValueError for no rank or a negative overhead."""
    if ranks < 1 or overhead < 0:
        raise ValueError(f"lemma 1 needs at least 1 rank and an overhead of at least 0, not {ranks} and {overhead:g}")
    return ranks * (1 + overhead) / (1 + ranks * overhead)


def overhead_of(ranks: int, measured_speedup: float) -> float:
    """Return R of a measured speed-up: the inverse of lemma 1; raise ValueError if no overhead gives that speed-up."""
    if not 1 <= measured_speedup <= ranks or ranks < 2:
        raise ValueError(f"{ranks} ranks cannot have the speed-up {measured_speedup:g}")
    if measured_speedup == 1:
        return inf
    return (ranks - measured_speedup) / (ranks * (measured_speedup - 1))


def most_ranks(overhead: float, efficiency: float, *, limit: int) -> int:
    """Return the largest number of ranks whose speed-up is at least `efficiency` of linear; at most `limit`."""
    if not 0 < efficiency <= 1:
        raise ValueError(f"an efficiency is above 0 and at most 1, not {efficiency:g}")
    if overhead == 0:
        return limit
    # alpha / G = (1 + R) / (1 + G R) >= efficiency; the small number is for rounding errors of the division
    return max(1, min(limit, int(((1 + overhead) / efficiency - 1) / overhead * (1 + 1e-12))))


def fewest_servers(size_bytes: float, workers: int, *, rate: float, compute_s: float) -> int:
    """Return the least N_ps of lemma 2; raise ValueError for a rate or time of 0."""
    if rate <= 0 or compute_s <= 0:
        raise ValueError(f"lemma 2 needs a rate and a computing time above 0, not {rate:g} and {compute_s:g}")
    return max(1, ceil(2 * size_bytes * workers / (rate * compute_s) * (1 - 1e-12)))
