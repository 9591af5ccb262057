"""Every algorithm in every shape worth trying on given hosts: what "auto" chooses among and the price list shows."""

from collections.abc import Iterator

from trainers.collectives.layout import Hosts, in_order, squarest
from trainers.collectives.plan import Plan
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree


def candidates(hosts: Hosts) -> Iterator[Plan]:
    """The plans for these hosts, no two alike."""
    world = len(in_order(hosts))
    yield ring.plan(hosts)
    rows = torus.plan(hosts)
    yield rows
    if rows.shape["rows"] != squarest(world):
        yield torus.plan(hosts, rows=squarest(world))
    yield halving_doubling.plan(hosts)
    yield tree.plan(hosts)
    for k in (2, 4, 8):
        if k <= world:
            yield colors.plan(hosts, k=k)
    if 1 < len(hosts) < world:
        yield hierarchical.plan(hosts)
    for servers in sorted({1, world}):
        yield server.plan(hosts, servers=servers)
