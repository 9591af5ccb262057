"""Build the center of an elastic or asynchronous rule."""

from functools import partial
from typing import assert_never

import torch.distributed as dist
from torch import Tensor

from contract.spec.choices import rules as choices
from contract.spec.run import RunSpec
from trainers.collectives.plans import tree
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce
from trainers.collectives.runners.gpu_group import make_gpu_group
from trainers.rules.call_timer import CallTimer
from trainers.rules.centers.center import Center
from trainers.rules.centers.center_client import CenterClient
from trainers.rules.centers.center_update import CenterUpdate, ElasticUpdate
from trainers.rules.centers.replicated_center import ReplicatedCenter
from trainers.rules.centers.request_order import FirstComeOrder, LockFreeOrder, RankOrder, RequestOrder
from trainers.rules.centers.served_center import ServedCenter
from trainers.rules.centers.tree_center import TreeCenter
from trainers.rules.flat_vector import allreduce_per_layer
from trainers.rules.rule import EXTRA_VALUES


def build_center(
    run: RunSpec, choice: choices.EASGD, x_N: Tensor, lengths: list[int], *, allreduce: Allreduce, updating: CallTimer
) -> Center:
    """Return the center of an EASGD variant; `lengths`: the numbers of weights of the layers in x_N."""
    world = dist.get_world_size()
    whole = [*lengths, EXTRA_VALUES]  # the extra values travel at the end
    match choice.variant:
        case "original" | "async" | "hogwild":
            return ServedCenter(build_client(run, choice, ElasticUpdate(x_N.cpu()), lengths, updating=updating))
        case "sync1":
            timeout_s = run.collective.timeout_s
            group = make_gpu_group(x_N.device, timeout_s=timeout_s)
            on_tree = partial(make_allreduce, chunks=1, group=group, timeout_s=timeout_s)
            reduce, broadcast = (on_tree(of(range(world), range(1))) for of in (tree.reduce, tree.broadcast))
            if not choice.packed:
                reduce, broadcast = allreduce_per_layer(reduce, whole), allreduce_per_layer(broadcast, whole)
            return TreeCenter(
                x_N, broadcast=broadcast, reduce=reduce, rank=dist.get_rank(), world=world, updating=updating
            )
        case "sync2" | "sync3":
            total = allreduce if choice.packed else allreduce_per_layer(allreduce, whole)
            overlap = choice.variant == "sync3"
            return ReplicatedCenter(x_N, allreduce=total, world=world, overlap=overlap, updating=updating)
        case _:
            assert_never(choice.variant)


def build_client(
    run: RunSpec,
    choice: choices.EASGD | choices.AsyncSGD,
    move: CenterUpdate,
    lengths: list[int],
    *,
    updating: CallTimer,
) -> CenterClient:
    """Return this rank's access to a center that rank 0 serves."""
    stops = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    layers = [slice(stop - length, stop) for stop, length in zip(stops, lengths, strict=True)]
    parts, timeout_s = None if choice.packed else layers, run.collective.timeout_s
    return CenterClient(
        move, _build_order(choice, timeout_s=timeout_s), parts=parts, timeout_s=timeout_s, updating=updating
    )


def _build_order(choice: choices.EASGD | choices.AsyncSGD, *, timeout_s: float) -> RequestOrder:
    world, is_free = dist.get_world_size(), choice.pace == "free"
    match choice.variant:
        case "original":
            return RankOrder(world, timeout_s=timeout_s)
        case "hogwild":
            return LockFreeOrder(world, timeout_s=timeout_s, is_free=is_free)
        case _:
            return FirstComeOrder(world, timeout_s=timeout_s, is_free=is_free)
