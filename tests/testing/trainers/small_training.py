"""Train a small net by the parts of a spec, alone or as one of several ranks, each with its share of every batch."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from contract.spec.run import RunSpec
from trainers.build.optimizers import build_loss_scale, build_optimizer
from trainers.build.preconditioners import build_preconditioner
from trainers.build.rules import build_rule
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import Allreduce
from trainers.rules import gradient_buckets
from trainers.training.precision import Precision
from trainers.training.step import TrainingStep

BATCH, WIDTH, RATE = 12, 4, 0.1
BeforePass = Callable[[nn.Module, int, int], None]  # the net, the number of the step, the number of its pass


def train(
    net: nn.Module,
    *,
    steps: int,
    passes: int = 1,
    before_pass: BeforePass | None = None,
    allreduce: Allreduce = native.allreduce,
    dtype: torch.dtype = torch.float64,
    **fields: Any,
) -> list[float]:
    """Take `steps` steps of `passes` passes; return the losses. Every parameter has a bucket of its own."""
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    if world > 1:  # in a process of its own
        gradient_buckets.LAST_BYTES = gradient_buckets.BUCKET_BYTES = 1
    run = spec(world, **fields)
    scale = build_loss_scale(run)
    kfac = build_preconditioner(run, net, rank, scale=scale)
    optimizer = build_optimizer(run, net, scale, kfac)
    rule = build_rule(run, net, optimizer, allreduce=allreduce, scale=scale, preconditioner=kfac)
    for group in optimizer.param_groups:
        group["lr"] = RATE
    step = TrainingStep(net, _distance, rule, precision=Precision(torch.float32, torch.device("cpu")), scale=scale)
    data, losses, share = torch.Generator().manual_seed(1), [], BATCH // world
    for number in range(steps):
        x_BD = torch.randn(BATCH, WIDTH, generator=data, dtype=torch.float64).to(dtype)
        parts = x_BD[rank::world].chunk(passes)  # the n-th passes of all ranks have the samples of one rank's n-th pass

        def batches(parts: Sequence[Tensor] = parts, number: int = number) -> Any:
            for of_pass, part in enumerate(parts):
                if before_pass is not None:
                    before_pass(net, number, of_pass)
                yield (part,), part.sum(dim=1, keepdim=True)

        losses.append(step(batches(), samples=share))
    rule.wait_for_all()
    return losses


def spec(world: int, **fields: Any) -> RunSpec:
    """Return a run of `world` local ranks with plain SGD, except for the given fields."""
    schedule, resources = {"kind": "constant", "rate": RATE}, {"kind": "local", "ranks_per_node": world}
    return RunSpec.model_validate(
        {
            "optimizer": {"kind": "sgd", "weight_decay": 0.01},
            "schedule": schedule,
            "batch": BATCH,
            "epochs": 1,
            "model": {"kind": "import", "function": "nets_of_a:user"},
            "resources": resources,
            **fields,
        }
    )


def weights_of(net: nn.Module) -> dict[str, Tensor]:
    """Return the weights by their names."""
    return {name: p.detach().clone() for name, p in net.named_parameters()}


def _distance(output: Tensor | tuple[Tensor, ...], target: Tensor) -> Tensor:
    assert isinstance(output, Tensor)
    return mse_loss(output.to(target.dtype), target)
