"""The algorithms of the all-reduce benchmark by name, each with its predicted time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from trainers.collectives.layout import Hosts, ranks_in_order
from trainers.collectives.plan import Plan
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import Price, price
from trainers.collectives.pricing.size_classes import cheapest_by_size
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce
from trainers.collectives.runners.auto import AutoAllreduce

MAX_COLORS = 4  # as in the paper


def _colors(hosts: Hosts, *, k: int = MAX_COLORS) -> Plan:
    return colors.plan(hosts, k=min(k, sum(map(len, hosts))))


# The servers come first and `auto` last, because the algorithms share connections: directly after a server, to which
# many hosts send at the same time, a plan took up to 10 % longer (docs/log/collectives.md).
PLANS: dict[str, Callable[[Hosts], Plan]] = {
    "server": server.plan,
    "sharded_server": lambda hosts: server.plan(hosts, servers=sum(map(len, hosts))),
    "colors": _colors,
    "tree": tree.plan,
    "ring": ring.plan,
    "hierarchical": hierarchical.plan,
    "halving_doubling": halving_doubling.plan,
    "torus": torus.plan,
}
NAMES = ("gloo", *PLANS, "auto")
# measured only if --algorithm names them
ON_REQUEST: dict[str, Callable[[Hosts], Plan]] = {
    **{f"colors_{k}": partial(_colors, k=k) for k in range(1, MAX_COLORS)},
    "tree_of_ranks": lambda hosts: tree.plan([[rank] for rank in ranks_in_order(hosts)]),  # a tree that knows no hosts
}


@dataclass(frozen=True)
class Algorithm:
    """An all-reduce, and its predicted seconds as a function of the bytes."""

    allreduce: Allreduce
    predicted_s: Callable[[int], float]


def algorithms(network: Network) -> dict[str, Algorithm]:
    """Return all algorithms on a measured network by name."""
    plans = {name: _from_plan(price(plan(network.hosts), network)) for name, plan in (PLANS | ON_REQUEST).items()}
    # gloo uses a ring in the order of the ranks, with other segments
    gloo = Algorithm(native.allreduce, price(ring.plan(network.hosts), network).seconds)
    return {"gloo": gloo, "auto": _auto(network), **plans}


def _from_plan(found: Price) -> Algorithm:
    return Algorithm(make_allreduce(found.plan, chunks=found.plan.chunks), found.runner_seconds)


def _auto(network: Network) -> Algorithm:
    """Return the algorithm `auto` of a run, which chooses the cheapest plan for each size on the measured links."""
    prices = {str(found.plan): found for found in (price(plan, network) for plan in candidates(network.hosts))}
    steps = cheapest_by_size(list(prices.values()))

    def choose(nbytes: int) -> str:
        return str(next(plan for start, plan in reversed(steps) if start <= nbytes))

    bound = {name: make_allreduce(entry.plan, chunks=entry.plan.chunks) for name, entry in prices.items()}
    return Algorithm(AutoAllreduce(bound, choose=choose), lambda nbytes: prices[choose(nbytes)].runner_seconds(nbytes))
