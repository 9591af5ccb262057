"""The sum over all ranks."""

import torch

from contract.folder.auto_choice import Choices
from contract.spec.choices import collectives as choices
from trainers.build.auto_collective import settle
from trainers.collectives.layout import Hosts, hosts_of
from trainers.collectives.runners.allreduce import Allreduce, follow
from trainers.collectives.runners.auto import Auto
from trainers.collectives.runners.timeout import watched
from trainers.plans import plan_of
from trainers.progress.auto_choice_store import Kept

BITS = range(64)  # of a vector's size in bytes
CPU = torch.device("cpu")


def allreduce(
    choice: choices.Collective, world: int, *, kept: Kept, nodes: int = 1, device: torch.device = CPU
) -> Allreduce:
    """The sum over all ranks, which are numbered node by node; what `auto` chooses is `kept`."""
    hosts = hosts_of(world, nodes)
    if isinstance(choice, choices.Auto):
        return _by_size(settle(choice, hosts, device=device, kept=kept), hosts)
    return _bound(choice, hosts)


def _bound(choice: choices.Native | choices.Planned, hosts: Hosts) -> Allreduce:
    if isinstance(choice, choices.Native):
        return watched(timeout_s=choice.timeout_s)
    plan = plan_of(choice, hosts)
    wire = getattr(torch, choice.wire) if choice.wire else None
    return follow(plan, chunks=plan.chunks, wire=wire, timeout_s=choice.timeout_s)


def _by_size(settled: Choices, hosts: Hosts) -> Allreduce:
    """Each size's own collective, bound once."""
    names = {
        bits: choices.words(choice.collective)
        for choice in settled.choices
        for bits in BITS
        if 1 << bits >> 1 >= choice.from_bytes
    }
    algorithms = {choices.words(choice.collective): _bound(choice.collective, hosts) for choice in settled.choices}
    return Auto(algorithms, choices=names)
