"""Make the plan of a run's collective. This module loads no torch, because the API prices and draws plans with it."""

from typing import assert_never

from contract.spec.choices import collectives as choices
from trainers.collectives.layout import Hosts
from trainers.collectives.plan import Plan
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree


def plan_of(choice: choices.PlannedCollective, hosts: Hosts) -> Plan:
    """Return the plan of `choice` among the ranks of `hosts`."""
    match choice:
        case choices.Ring():
            return ring.plan(hosts)
        case choices.Torus(rows=rows):
            return torus.plan(hosts, rows=rows)
        case choices.Tree():
            return tree.plan(hosts)
        case choices.Colors(k=k):
            return colors.plan(hosts, k=k)
        case choices.Hierarchical(group=group):
            return hierarchical.plan(hosts, group=group)
        case choices.HalvingDoubling():
            return halving_doubling.plan(hosts)
        case choices.Server(servers=servers):
            return server.plan(hosts, servers=servers)
        case _:
            assert_never(choice)
