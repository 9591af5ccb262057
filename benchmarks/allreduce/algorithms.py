"""The algorithms that the all-reduce benchmark compares, by the names of its rows: how to call, what to expect."""

from collections.abc import Callable
from dataclasses import dataclass

from trainers.collectives.layout import Hosts
from trainers.collectives.plan import Plan
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import Price, price
from trainers.collectives.pricing.size_classes import cheapest
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import Allreduce, follow
from trainers.collectives.runners.auto import Auto

MOST_COLORS = 4  # as in the paper

# The servers come first, `auto` last: the connections are shared, and right after a server, when many had sent to one
# host at once, the same plan took up to a tenth longer (docs/log.md).
PLANS: dict[str, Callable[[Hosts], Plan]] = {
    "server": server.plan,
    "sharded_server": lambda hosts: server.plan(hosts, servers=sum(map(len, hosts))),
    "colors": lambda hosts: colors.plan(hosts, k=min(MOST_COLORS, sum(map(len, hosts)))),
    "tree": tree.plan,
    "ring": ring.plan,
    "hierarchical": hierarchical.plan,
    "halving_doubling": halving_doubling.plan,
    "torus": torus.plan,
}
NAMES = ("gloo", *PLANS, "auto")


@dataclass(frozen=True)
class Algorithm:
    """How to sum, and how long that should take for so many bytes."""

    allreduce: Allreduce
    predicted_s: Callable[[int], float]


def algorithms(network: Network) -> dict[str, Algorithm]:
    """All of them on a measured network, by name."""
    made = {name: _carried_out(price(plan(network.hosts), network)) for name, plan in PLANS.items()}
    # gloo's own is a ring in the order of the ranks, in segments of its own
    gloo = Algorithm(native.allreduce, price(ring.plan(network.hosts), network).seconds)
    return {"gloo": gloo, "auto": _auto(network), **made}


def _carried_out(found: Price) -> Algorithm:
    return Algorithm(follow(found.plan, chunks=found.plan.chunks), found.by_runner)


def _auto(network: Network) -> Algorithm:
    """What a run with `auto` takes for each size, on the links as they were measured."""
    prices = {str(found.plan): found for found in (price(plan, network) for plan in candidates(network.hosts))}
    steps = cheapest(list(prices.values()))

    def choose(nbytes: int) -> str:
        return str(next(plan for start, plan in reversed(steps) if start <= nbytes))

    bound = {name: follow(one.plan, chunks=one.plan.chunks) for name, one in prices.items()}
    return Algorithm(Auto(bound, choose=choose), lambda nbytes: prices[choose(nbytes)].by_runner(nbytes))
