"""Build the all-reduce, the sum over all ranks."""

from collections.abc import Callable
from functools import partial

import torch
import torch.distributed as dist

from contract.folder.auto_choice import CollectiveChoices
from contract.spec.choices import collectives as choices
from trainers.build.auto_collective import choose_collectives
from trainers.collectives import layout
from trainers.collectives.layout import Hosts, hosts_of
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce
from trainers.collectives.runners.auto import AutoAllreduce
from trainers.collectives.runners.gpu_group import backend_of_groups, choose_runner, make_gpu_group
from trainers.collectives.runners.native_torus import native_torus
from trainers.collectives.runners.timeout import backend_allreduce
from trainers.plans import plan_of
from trainers.progress.auto_choice_store import AutoChoiceStore

BITS = range(64)  # of a vector's size in bytes
CPU = torch.device("cpu")
Build = Callable[[choices.Native | choices.PlannedCollective], Allreduce]


def build_allreduce(
    choice: choices.Collective,
    world: int,
    *,
    choice_store: AutoChoiceStore,
    nodes: int = 1,
    device: torch.device = CPU,
    group: dist.ProcessGroup | None = None,
) -> Allreduce:
    """Return the all-reduce of ranks that are numbered node by node; `choice_store` stores the choices of `auto`.

    `group`: the ranks on CPUs that sum; None: all.
    """
    hosts = hosts_of(world, nodes)
    build = partial(
        _build_one, hosts=hosts, device=device, group=group or make_gpu_group(device, timeout_s=choice.timeout_s)
    )
    if isinstance(choice, choices.Auto):
        resolved = choose_collectives(choice, hosts, device=device, choice_store=choice_store)
        return _build_by_size(resolved, build)
    return build(choice)


def _build_one(
    choice: choices.Native | choices.PlannedCollective,
    *,
    hosts: Hosts,
    device: torch.device,
    group: dist.ProcessGroup | None,
) -> Allreduce:
    """Return the all-reduce of a choice; `group` has the choice's timeout on GPUs."""
    grid = layout.grid(hosts, choice.rows) if isinstance(choice, choices.Torus) else []
    runner = choose_runner(choice.kind, device_type=device.type, row_lengths=[len(row) for row in grid])
    if isinstance(choice, choices.Native):
        return backend_allreduce(group=group, timeout_s=choice.timeout_s)
    wire, timeout_s = getattr(torch, choice.wire) if choice.wire else None, choice.timeout_s
    if runner == "groups":
        return native_torus(grid, wire=wire, timeout_s=timeout_s, backend=backend_of_groups(device.type))
    plan = plan_of(choice, hosts)
    return make_allreduce(plan, chunks=plan.chunks, group=group, wire=wire, timeout_s=timeout_s)


def _build_by_size(resolved: CollectiveChoices, build: Build) -> Allreduce:
    """Return an all-reduce that uses the chosen collective of each vector size; build each collective once."""
    names = {
        bits: choices.describe_collective(choice.collective)
        for choice in resolved.choices
        for bits in BITS
        if 1 << bits >> 1 >= choice.from_bytes
    }
    algorithms = {
        choices.describe_collective(choice.collective): build(choice.collective) for choice in resolved.choices
    }
    return AutoAllreduce(algorithms, choices=names)
