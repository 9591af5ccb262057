"""Weak scaling to 4,352 cores by the cost model, with the figures of You, Buluç & Demmel (2017).

`make bench NAME=weak_scaling` prints the tables and writes the report. Each chip of 68 cores trains one replica on its
own batch (Algorithm 4, Sync EASGD on Cori's Knights Landings), so an iteration on n chips takes

    T(n) = T(1) + t_n(S),    efficiency = T(1) / T(n)

with the published T(1), and t_n(S) the predicted time of an all-reduce of the weights' S bytes over n ranks, one per
host, without overlap. There are three predictions. The first uses the network's rate, for which the all-reduce takes
almost no time. The other two, for the cheapest plan and for a binomial tree, use one fitted rate for the whole work of
a chip (its slow cores add and copy), such that the first doubling costs the published time. All other numbers of chips,
and the other net, are predictions without a fit.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from trainers.collectives.layout import hosts_of
from trainers.collectives.plans import tree
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import choose, price

CORES = 68  # of a chip
CHIPS = [1, 2, 4, 8, 16, 32, 64]
ARIES_RATE, LATENCY_S = 10e9, 1.5e-6  # Cray's network, approximately: bytes/s per host and direction, and latency
RESULT = Path(__file__).parent / "results" / "weak_scaling.json"


class Net(NamedTuple):
    """A net of the paper: its size, and the seconds of its iterations on one chip."""

    name: str
    size_bytes: int
    iterations: int
    alone_s: float
    published: dict[int, float]  # cores -> efficiency


GOOGLENET_S = {68: 1533, 136: 1590, 272: 1608, 544: 1641, 1088: 1630, 2176: 1662, 4352: 1674}
GOOGLENET = Net("GoogLeNet", 4 * 13_378_280, 300, 1533, {cores: 1533 / s for cores, s in GOOGLENET_S.items()})
VGG = Net("VGG-19", 4 * 143_667_240, 80, 1318, {4352: 0.80})  # only this figure is published, and it is approximate


def main() -> None:
    """Print both tables and write the report."""
    rate = rate_of_first_doubling(GOOGLENET)
    print(f"fitted rate of a chip from the first doubling: {rate / 1e6:.0f} MB/s")
    report = {"aries_rate": ARIES_RATE, "latency_s": LATENCY_S, "fitted_rate": rate}
    tables = {net.name: table(net, rate) for net in (GOOGLENET, VGG)}
    for name, rows in tables.items():
        print(f"{name}: cores, published, cheapest plan at Aries' rate, at the fitted rate, tree at the fitted rate")
        for row in rows:
            published = f"{row['published']:10.1%}" if row["published"] else f"{'':10}"
            shares = "".join(f"{row[column]:10.1%}" for column in ("aries", "fitted", "fitted_tree"))
            print(f"{row['cores']:6,}{published}{shares}  {row['plan']}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({**report, "tables": tables}, indent=1) + "\n")


def table(net: Net, rate: float) -> list[dict[str, Any]]:
    """Return a row for every number of chips."""
    return [
        {
            "cores": CORES * chips,
            "published": net.published.get(CORES * chips),
            "aries": efficiency(net, sum_s(net.size_bytes, chips, ARIES_RATE)[0]),
            "fitted": efficiency(net, sum_s(net.size_bytes, chips, rate)[0]),
            "fitted_tree": efficiency(net, tree_s(net.size_bytes, chips, rate)),
            "plan": sum_s(net.size_bytes, chips, rate)[1],
        }
        for chips in CHIPS
    ]


def efficiency(net: Net, sum_s: float) -> float:
    """Return T(1) / T(n) if the all-reduce over n chips takes `sum_s` seconds."""
    step_s = net.alone_s / net.iterations
    return step_s / (step_s + sum_s)


def sum_s(size_bytes: float, chips: int, rate: float) -> tuple[float, str]:
    """Return the seconds and the name of the cheapest plan."""
    if chips == 1:
        return 0.0, "-"
    found = choose(candidates(hosts_of(chips, chips)), network(chips, rate), size_bytes)
    return found.seconds(size_bytes), found.plan.kind


def tree_s(size_bytes: float, chips: int, rate: float) -> float:
    """Return the seconds of a binomial tree."""
    return price(tree.plan(hosts_of(chips, chips)), network(chips, rate)).seconds(size_bytes)


def network(chips: int, rate: float) -> Network:
    """Return a network with one rank per host."""
    return Network(hosts=hosts_of(chips, chips), rate=rate, latency_s=LATENCY_S)


def rate_of_first_doubling(net: Net) -> float:
    """Return the rate at which the cheapest plan on two chips takes the published loss of the first doubling."""
    lost_s = net.alone_s / net.iterations * (1 / net.published[2 * CORES] - 1)
    slow, fast = 1e6, 1e12
    while fast / slow > 1 + 1e-9:
        middle = (slow * fast) ** 0.5
        slow, fast = (middle, fast) if sum_s(net.size_bytes, 2, middle)[0] > lost_s else (slow, middle)
    return fast


if __name__ == "__main__":
    main()
