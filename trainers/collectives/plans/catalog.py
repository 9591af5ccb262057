"""The catalog of plans: every algorithm in every useful shape, for `auto` and for the price list."""

from collections.abc import Iterator

from trainers.collectives.layout import Hosts, ranks_in_order, squarest
from trainers.collectives.plan import Plan
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree


def candidates(hosts: Hosts) -> Iterator[Plan]:
    """Yield the plans for these hosts; no two plans are equal."""
    world = len(ranks_in_order(hosts))
    yield ring.plan(hosts)
    row_per_host = torus.plan(hosts)
    yield row_per_host
    if row_per_host.shape["rows"] != squarest(world):
        yield torus.plan(hosts, rows=squarest(world))
    yield halving_doubling.plan(hosts)
    yield tree.plan(hosts)
    for k in (2, 4, 8):
        if k <= (len(hosts) if len(hosts) > 1 else world):
            yield colors.plan(hosts, k=k)
    if 1 < len(hosts) < world:
        yield hierarchical.plan(hosts)
    for servers in sorted({1, world}):
        yield server.plan(hosts, servers=servers)
