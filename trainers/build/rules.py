"""Build the update rule."""

from typing import assert_never

import torch
import torch.distributed as dist
from torch import Tensor, nn

from contract.spec.choices import rules as choices
from contract.spec.run import RunSpec
from trainers.collectives.plans import tree
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce
from trainers.rules.asynchronous import AsynchronousSGD
from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.centers.center import Center
from trainers.rules.centers.center_client import CenterClient
from trainers.rules.centers.center_update import CenterUpdate, ElasticUpdate, GradientUpdate
from trainers.rules.centers.replicated_center import ReplicatedCenter
from trainers.rules.centers.request_order import FirstComeOrder, LockFreeOrder, RankOrder, RequestOrder
from trainers.rules.centers.served_center import ServedCenter
from trainers.rules.centers.tree_center import TreeCenter
from trainers.rules.elastic import ElasticAveraging
from trainers.rules.flat_vector import allreduce_per_layer, flatten_weights
from trainers.rules.rule import EXTRA_VALUES, Rule
from trainers.rules.sync import Sync
from trainers.training.precision import LossScale

EXCHANGE_TIMEOUT_S = 300.0  # a rank that begins no exchange with a served center for so long is lost


def build_rule(
    run: RunSpec,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    allreduce: Allreduce,
    scale: LossScale | None = None,
    timed: CallTimer = call_untimed,
    updating: CallTimer = call_untimed,
) -> Rule:
    """Return the rule; `timed` counts the time of calls as communication, `updating` as the update.

    `scale` is attached to the optimizer already, for the rules that call its step.
    """
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
            x_N, rate = flatten_weights(params), run.peak_rate
            assert rate is not None, "the spec's checks refuse a schedule of the user's own here"
            return ElasticAveraging(
                x_N,
                optimizer,
                _make_center(choice, x_N, [p.numel() for p in params], allreduce=allreduce, updating=updating),
                rho=choice.force(rate=rate, world=run.resources.world),
                period=choice.period,
                overlap=choice.variant == "sync3",
                timed=timed,
                updating=updating,
            )
        case choices.AsyncSGD():
            return _make_asynchronous(choice, params, optimizer, scale=scale, timed=timed, updating=updating)
        case _:
            assert_never(choice)


def _make_asynchronous(
    choice: choices.AsyncSGD,
    params: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    *,
    scale: LossScale | None,
    timed: CallTimer,
    updating: CallTimer,
) -> AsynchronousSGD:
    x_N = flatten_weights(params)
    move = GradientUpdate(x_N.cpu(), momentum=optimizer.param_groups[0]["momentum"])
    client = _make_client(choice, move, [p.numel() for p in params], updating=updating)
    return AsynchronousSGD(x_N, params, optimizer, client=client, scale=scale, timed=timed, updating=updating)


def _make_center(
    choice: choices.EASGD, x_N: Tensor, lengths: list[int], *, allreduce: Allreduce, updating: CallTimer
) -> Center:
    """Return the center of an EASGD variant."""
    rank, world = dist.get_rank(), dist.get_world_size()
    whole = [*lengths, EXTRA_VALUES]  # the extra values travel at the end
    match choice.variant:
        case "original" | "async" | "hogwild":
            return ServedCenter(_make_client(choice, ElasticUpdate(x_N.cpu()), lengths, updating=updating))
        case "sync1":
            reduce = make_allreduce(tree.reduce(range(world), range(1)), chunks=1)
            broadcast = make_allreduce(tree.broadcast(range(world), range(1)), chunks=1)
            if not choice.packed:
                reduce, broadcast = allreduce_per_layer(reduce, whole), allreduce_per_layer(broadcast, whole)
            return TreeCenter(x_N, broadcast=broadcast, reduce=reduce, rank=rank, world=world, updating=updating)
        case "sync2" | "sync3":
            total = allreduce if choice.packed else allreduce_per_layer(allreduce, whole)
            overlap = choice.variant == "sync3"
            return ReplicatedCenter(x_N, allreduce=total, world=world, overlap=overlap, updating=updating)
        case _:
            assert_never(choice.variant)


def _make_client(
    choice: choices.EASGD | choices.AsyncSGD, move: CenterUpdate, lengths: list[int], *, updating: CallTimer
) -> CenterClient:
    stops = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    layers = [slice(stop - length, stop) for stop, length in zip(stops, lengths, strict=True)]
    parts = None if choice.packed else layers
    return CenterClient(move, _make_order(choice), parts=parts, timeout_s=EXCHANGE_TIMEOUT_S, updating=updating)


def _make_order(choice: choices.EASGD | choices.AsyncSGD) -> RequestOrder:
    world = dist.get_world_size()
    match choice.variant:
        case "original":
            return RankOrder(world, timeout_s=EXCHANGE_TIMEOUT_S)
        case "hogwild":
            return LockFreeOrder(world, timeout_s=EXCHANGE_TIMEOUT_S)
        case _:
            return FirstComeOrder(world, timeout_s=EXCHANGE_TIMEOUT_S)
