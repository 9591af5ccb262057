"""The update rule."""

from typing import assert_never

import torch
import torch.distributed as dist
from torch import Tensor, nn

from contract.spec.choices import rules as choices
from contract.spec.run import RunSpec
from trainers.collectives.plans import tree
from trainers.collectives.runners.allreduce import Allreduce, follow
from trainers.rules.asynchronous import Asynchronous
from trainers.rules.call_timer import Timed, untimed
from trainers.rules.centers.center import Center
from trainers.rules.centers.center_client import Door, Served
from trainers.rules.centers.center_update import Along, Move, Towards
from trainers.rules.centers.replicated_center import Replicated
from trainers.rules.centers.request_order import FirstCome, LockFree, Order, RankOrder
from trainers.rules.centers.tree_center import Mastered
from trainers.rules.elastic import Elastic
from trainers.rules.flat_vector import per_layer, weights
from trainers.rules.rule import RIDERS, Rule
from trainers.rules.sync import Sync

TURN_S = 300.0  # a rank that takes longer to its turn at a center is lost


def rule(
    run: RunSpec,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    allreduce: Allreduce,
    timed: Timed = untimed,
    updating: Timed = untimed,
) -> Rule:
    """How the replicas agree; `timed` makes a call count as communication, `updating` as the update."""
    choice, params = run.rule, list(model.parameters())
    match choice:
        case choices.Sync():
            return Sync(
                params,
                optimizer,
                allreduce=allreduce,
                world=run.resources.world,
                packed=choice.packed,
                overlap=choice.overlap,
                timed=timed,
                updating=updating,
            )
        case choices.EASGD():
            x_N = weights(params)
            return Elastic(
                x_N,
                optimizer,
                _center(choice, x_N, [p.numel() for p in params], allreduce=allreduce, updating=updating),
                rho=choice.force(rate=run.peak_rate, world=run.resources.world),
                period=choice.period,
                overlap=choice.variant == "sync3",
                timed=timed,
                updating=updating,
            )
        case choices.AsyncSGD():
            x_N = weights(params)
            move = Along(x_N.cpu(), momentum=optimizer.param_groups[0]["momentum"])
            door = _door(choice, move, [p.numel() for p in params], updating=updating)
            return Asynchronous(x_N, params, optimizer, door=door, timed=timed, updating=updating)
        case _:
            assert_never(choice)


def _center(choice: choices.EASGD, x_N: Tensor, lengths: list[int], *, allreduce: Allreduce, updating: Timed) -> Center:
    """Where the shared point lives."""
    rank, world = dist.get_rank(), dist.get_world_size()
    whole = [*lengths, RIDERS]  # what the ranks tell rides at the end
    match choice.variant:
        case "original" | "async" | "hogwild":
            return Served(_door(choice, Towards(x_N.cpu()), lengths, updating=updating))
        case "sync1":
            reduce = follow(tree.reduce(range(world), range(1)), chunks=1)
            broadcast = follow(tree.broadcast(range(world), range(1)), chunks=1)
            if not choice.packed:
                reduce, broadcast = per_layer(reduce, whole), per_layer(broadcast, whole)
            return Mastered(x_N, broadcast=broadcast, reduce=reduce, rank=rank, world=world, updating=updating)
        case "sync2" | "sync3":
            total = allreduce if choice.packed else per_layer(allreduce, whole)
            overlap = choice.variant == "sync3"
            return Replicated(x_N, allreduce=total, world=world, overlap=overlap, updating=updating)
        case _:
            assert_never(choice.variant)


def _door(choice: choices.EASGD | choices.AsyncSGD, move: Move, lengths: list[int], *, updating: Timed) -> Door:
    stops = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    layers = [slice(stop - length, stop) for stop, length in zip(stops, lengths, strict=True)]
    parts = None if choice.packed else layers
    return Door(move, _order(choice), parts=parts, timeout_s=TURN_S, updating=updating)


def _order(choice: choices.EASGD | choices.AsyncSGD) -> Order:
    world = dist.get_world_size()
    match choice.variant:
        case "original":
            return RankOrder(world, timeout_s=TURN_S)
        case "hogwild":
            return LockFree(world, timeout_s=TURN_S)
        case _:
            return FirstCome(world, timeout_s=TURN_S)
