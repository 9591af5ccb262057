"""Build the all-reduce, the sum over all ranks."""

import torch

from contract.folder.auto_choice import CollectiveChoices
from contract.spec.choices import collectives as choices
from trainers.build.auto_collective import choose_collectives
from trainers.collectives.layout import Hosts, hosts_of
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce
from trainers.collectives.runners.auto import AutoAllreduce
from trainers.collectives.runners.timeout import backend_allreduce
from trainers.plans import plan_of
from trainers.progress.auto_choice_store import AutoChoiceStore

BITS = range(64)  # of a vector's size in bytes
CPU = torch.device("cpu")


def build_allreduce(
    choice: choices.Collective, world: int, *, choice_store: AutoChoiceStore, nodes: int = 1, device: torch.device = CPU
) -> Allreduce:
    """Return the all-reduce of ranks that are numbered node by node; `choice_store` stores the choices of `auto`."""
    hosts = hosts_of(world, nodes)
    if isinstance(choice, choices.Auto):
        return _build_by_size(choose_collectives(choice, hosts, device=device, choice_store=choice_store), hosts)
    return _build_one(choice, hosts)


def _build_one(choice: choices.Native | choices.PlannedCollective, hosts: Hosts) -> Allreduce:
    if isinstance(choice, choices.Native):
        return backend_allreduce(timeout_s=choice.timeout_s)
    plan = plan_of(choice, hosts)
    wire = getattr(torch, choice.wire) if choice.wire else None
    return make_allreduce(plan, chunks=plan.chunks, wire=wire, timeout_s=choice.timeout_s)


def _build_by_size(resolved: CollectiveChoices, hosts: Hosts) -> Allreduce:
    """Return an all-reduce that uses the chosen collective of each vector size; build each collective once."""
    names = {
        bits: choices.describe_collective(choice.collective)
        for choice in resolved.choices
        for bits in BITS
        if 1 << bits >> 1 >= choice.from_bytes
    }
    algorithms = {
        choices.describe_collective(choice.collective): _build_one(choice.collective, hosts)
        for choice in resolved.choices
    }
    return AutoAllreduce(algorithms, choices=names)
