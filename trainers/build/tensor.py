"""Build the mesh of ranks that share a replica, and the net on it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn

from contract.spec.choices.tensor import OneD, ThreeD, TwoD
from contract.spec.run import RunSpec
from trainers.collectives.runners.group_collectives import GroupCollectives
from trainers.models.gpt import GPT
from trainers.ranks.rank_info import RankInfo
from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.tensor.group import Group
from trainers.tensor.mesh import GROUPS, Mesh, Shape
from trainers.tensor.shard_gpt import shard_gpt


@dataclass(frozen=True)
class Placement:
    """A rank's place among the replicas, and in the mesh of its replica."""

    mesh: Mesh
    replica: int
    replicas: dist.ProcessGroup  # the ranks that have the same shard of each replica


def shape_of(tensor: OneD | TwoD | ThreeD) -> Shape:
    """Return the shape of a replica's mesh."""
    return Shape(tensor.kind, tensor.side, saves_gathered=isinstance(tensor, ThreeD) and tensor.save_gathered)


def build_placement(run: RunSpec, rank_info: RankInfo, *, timed: CallTimer = call_untimed) -> Placement | None:
    """Create the groups of a run whose ranks share replicas, else return None; all ranks call this together.

    The ranks of a replica have consecutive numbers, so that they share hosts where hosts have enough ranks. `timed`
    counts the time of calls as communication.
    """
    if run.tensor is None:
        return None
    shape, timeout_s = shape_of(run.tensor), run.collective.timeout_s
    replica, rank = divmod(rank_info.rank, shape.size)
    firsts = range(0, run.resources.world, shape.size)  # the first rank of each replica
    groups: dict[str, Group] = {}
    for axes in GROUPS[shape.kind]:
        own = _create_group([[first + m for m in members] for first in firsts for members in shape.every_group(axes)])
        members = shape.members(axes, rank)
        order = [sorted(members).index(member) for member in members]  # torch numbers a group's ranks in their order
        shares_memory = shape.kind != "two_d" or axes == "all"  # the products on a square broadcast
        group = GroupCollectives(own, order=order, shares_memory=shares_memory, timeout_s=timeout_s)
        groups[axes] = _Timed(group, timed)
    same_shard = _create_group([[first + number for first in firsts] for number in range(shape.size)])
    return Placement(Mesh(shape, rank, groups), replica, same_shard)


def _create_group(members: list[list[int]]) -> dist.ProcessGroup:
    """Create a group of each list of ranks, in the same order on every rank, and return this rank's group."""
    created = [dist.new_group(ranks, backend="gloo") for ranks in members]
    rank = dist.get_rank()
    own: dist.ProcessGroup = next(group for group, ranks in zip(created, members, strict=True) if rank in ranks)
    return own


def rank_among_replicas(rank_info: RankInfo, placement: Placement | None, *, replicas: int) -> RankInfo:
    """Return the rank and the world by which samples are divided: those of the replicas."""
    return rank_info if placement is None else replace(rank_info, rank=placement.replica, world=replicas)


def put_on_mesh(model: nn.Module, placement: Placement | None) -> nn.Module:
    """Return the model with this rank's shards of its parameters."""
    if placement is None:
        return model
    assert isinstance(model, GPT), "the spec's checks refuse other models"
    return shard_gpt(model, placement.mesh)


def hosts_of_replicas(run: RunSpec) -> int:
    """Return the number of hosts over which the ranks of one shard are distributed, as far as whole replicas fit."""
    ranks_per_host = run.resources.world // run.resources.nodes
    size = run.tensor.size if run.tensor else 1
    return run.resources.nodes if ranks_per_host % size == 0 else run.replicas


class _Timed:
    """A group whose calls count as communication."""

    def __init__(self, group: Group, timed: CallTimer) -> None:
        self.size, self.index = group.size, group.index
        self.all_gather: Callable[[Tensor], Tensor] = timed(group.all_gather)
        self.reduce_scatter: Callable[[Tensor], Tensor] = timed(group.reduce_scatter)
        self.all_reduce: Callable[[Tensor], Tensor] = timed(group.all_reduce)
        self.broadcast: Any = timed(group.broadcast)
        self.reduce: Any = timed(group.reduce)
