"""One rank that times exchanges of a net with many tensors, packed into one message or with one message per layer.

A step consists only of the exchange and the update: the parameters have the shapes of ResNet-50-v2, with the first two
dimensions divided by `divisor`, and the gradients are 0.
"""

import time
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from benchmarks.rank_group import run_rank
from contract.spec.run import RunSpec
from trainers.build import collectives, rules
from trainers.models.resnet_v2 import ResNet50V2
from trainers.progress.auto_choice_store import AutoChoiceStore


class Layers(nn.Module):
    """The parameters of ResNet-50-v2 for ten classes, with smaller layers."""

    def __init__(self, divisor: int) -> None:
        super().__init__()
        shapes = [p.shape for p in ResNet50V2(3, 10).parameters()]
        self.layers = nn.ParameterList(
            torch.zeros([max(1, side // divisor) if dim < 2 else side for dim, side in enumerate(shape)])
            for shape in shapes
        )


def main() -> None:
    """Execute the task in the environment variable TASK."""
    run_rank(measure)


def measure(task: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each rule."""
    return [time_exchange(name, spec, task) for name, spec in task["specs"].items()]


def time_exchange(name: str, spec: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the median seconds of an exchange with the rule of `spec`, on the slowest rank."""
    run, net = RunSpec.model_validate(spec), Layers(task["divisor"])
    params = list(net.parameters())
    optimizer = torch.optim.SGD(params, lr=0.01)
    allreduce = collectives.build_allreduce(
        run.collective, run.resources.world, choice_store=NO_CHOICE, nodes=run.resources.nodes
    )
    rule, all_s = rules.build_rule(run, net, optimizer, allreduce=allreduce), []
    for _ in range(task["repeats"] + 1):
        for p in params:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.barrier()
        began_s = time.perf_counter()
        rule.begin_step()
        rule.step(torch.tensor(0.0))
        spent_s = torch.tensor(time.perf_counter() - began_s)
        dist.all_reduce(spent_s, dist.ReduceOp.MAX)
        all_s.append(float(spent_s))
    rule.wait_for_all()
    tensors, count = len(params), sum(p.numel() for p in params)
    return {"rule": name, "tensors": tensors, "parameters": count, "seconds": median(all_s[1:]), "all_s": all_s[1:]}


def _refuse_choice(*_: object) -> None:
    raise AssertionError("the specs of this benchmark name their collective")


NO_CHOICE: AutoChoiceStore = AutoChoiceStore(None, _refuse_choice)  # type: ignore[arg-type]
