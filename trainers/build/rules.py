"""Build the update rule."""

from functools import partial
from typing import assert_never

import torch
from torch import nn

from contract.spec.choices import rules as choices
from contract.spec.run import RunSpec
from trainers.build.centers import build_center, build_client
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.side_stream import SideStream
from trainers.optimizers.gradient_check import GradientCheck
from trainers.preconditioners.kfac import KFAC
from trainers.rules.asynchronous import AsynchronousSGD
from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.centers.center_update import GradientUpdate
from trainers.rules.early_means import EarlyMeans, are_early
from trainers.rules.elastic import ElasticAveraging
from trainers.rules.flat_vector import flatten_weights, order_in_memory
from trainers.rules.rule import Rule
from trainers.rules.sync import Sync
from trainers.tensor.mesh import Mesh
from trainers.tensor.sharded_sync import ShardedSync
from trainers.training.precision import LossScale


def build_rule(
    run: RunSpec,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    allreduce: Allreduce,
    scale: LossScale | None = None,
    mesh: Mesh | None = None,
    preconditioner: KFAC | None = None,
    check: GradientCheck | None = None,
    timed: CallTimer = call_untimed,
    updating: CallTimer = call_untimed,
) -> Rule:
    """Return the rule; `timed` counts the time of calls as communication, `updating` as the update.

    `scale`, `preconditioner` and `check` are attached to the optimizer already, for the rules that call its step.
    `mesh`: of this rank's replica, if several ranks share one; `allreduce` is among replicas.
    """
    choice, params = run.rule, list(model.parameters())
    match choice:
        case choices.Sync():
            return _build_synchronous(
                run,
                choice,
                model,
                optimizer,
                allreduce=allreduce,
                mesh=mesh,
                preconditioner=preconditioner,
                check=check,
                timed=timed,
                updating=updating,
            )
        case choices.EASGD():
            return _build_elastic(run, choice, params, optimizer, allreduce=allreduce, timed=timed, updating=updating)
        case choices.AsyncSGD():
            return _build_asynchronous(run, choice, params, optimizer, scale=scale, timed=timed, updating=updating)
        case _:
            assert_never(choice)


def _build_synchronous(
    run: RunSpec,
    choice: choices.Sync,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    allreduce: Allreduce,
    mesh: Mesh | None,
    preconditioner: KFAC | None,
    check: GradientCheck | None,
    timed: CallTimer,
    updating: CallTimer,
) -> Sync:
    world, side = run.replicas, SideStream()
    names, params = zip(*model.named_parameters(), strict=True)
    early = EarlyMeans(native.allreduce, world=world, side=side) if are_early(params[0].device.type) else None
    build = Sync if mesh is None else partial(ShardedSync, mesh)
    return build(
        params,
        optimizer,
        allreduce=allreduce,
        world=world,
        names=names,
        packed=choice.packed,
        overlap=choice.overlap,
        early=early,
        preconditioner=preconditioner,
        side=side,
        check=check,
        timed=timed,
        updating=updating,
    )


def _build_elastic(
    run: RunSpec,
    choice: choices.EASGD,
    params: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    *,
    allreduce: Allreduce,
    timed: CallTimer,
    updating: CallTimer,
) -> ElasticAveraging:
    params = order_in_memory(params)
    x_N, rate = flatten_weights(params), run.peak_rate
    assert rate is not None, "the spec's checks refuse a schedule of the user's own here"
    return ElasticAveraging(
        x_N,
        optimizer,
        build_center(run, choice, x_N, [p.numel() for p in params], allreduce=allreduce, updating=updating),
        rho=choice.force(rate=rate, world=run.resources.world),
        period=choice.period,
        overlap=choice.variant == "sync3",
        timed=timed,
        updating=updating,
    )


def _build_asynchronous(
    run: RunSpec,
    choice: choices.AsyncSGD,
    params: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    *,
    scale: LossScale | None,
    timed: CallTimer,
    updating: CallTimer,
) -> AsynchronousSGD:
    params = order_in_memory(params)
    x_N = flatten_weights(params)
    move = GradientUpdate(x_N.cpu(), momentum=optimizer.param_groups[0]["momentum"])
    client = build_client(run, choice, move, [p.numel() for p in params], updating=updating)
    return AsynchronousSGD(x_N, params, optimizer, client=client, scale=scale, timed=timed, updating=updating)
