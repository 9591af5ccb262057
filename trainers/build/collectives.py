"""The sum over all ranks."""

from contract.choices import collectives as choices
from trainers.collectives import native
from trainers.collectives.layout import hosts_of
from trainers.collectives.runner import Allreduce, follow
from trainers.plans import plan_of


def allreduce(choice: choices.Collective, world: int, *, nodes: int = 1) -> Allreduce:
    """The sum over all ranks, which are numbered node by node."""
    if isinstance(choice, choices.Native):
        return native.allreduce
    plan = plan_of(choice, hosts_of(world, nodes))
    return follow(plan, chunks=plan.chunks)
