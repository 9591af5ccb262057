"""The time of a step with K-FAC compared with SGD's: factors every 10 and inverses every 100 steps.

The nets train in turn in one process on the same batches, a block of steps each, so that a machine that is slow for a
while slows all. The times are of the process's one thread on its core, without the time that other processes take. The
ratio is of the means over whole periods of 100 steps: a median would leave out the inverses.
"""

import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.kfac.residual_net import residual_net
from trainers.models.convnet import ConvNet
from trainers.models.lenet import LeNet
from trainers.optimizers.fused import make_sgd
from trainers.preconditioners.kfac import KFAC
from trainers.preconditioners.options import KFACOptions, Method, Staged
from trainers.rules.call_timer import CallTimer
from trainers.rules.sync import Sync

PERIOD, FACTOR_EVERY, CLASSES = 100, 10, 26
CASES: dict[str, tuple[Any, int, int]] = {  # net, pixels of a side, batch
    "convnet, 8 channels, batch 256": (lambda: ConvNet(1, CLASSES, width=8), 28, 256),
    "convnet, 16 channels, batch 256, 8 x 8": (lambda: ConvNet(1, CLASSES, width=16), 8, 256),
    "LeNet, batch 256": (lambda: LeNet(1, CLASSES), 28, 256),
    "residual net, batch 128": (lambda: residual_net(channels=1, classes=CLASSES), 28, 128),
}


class Parts:
    """Seconds of parts, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timer(self, part: str) -> CallTimer:
        """Return a wrapper that counts the time of calls."""

        def wrap(function: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                begin = time.process_time()
                try:
                    return function(*args, **kwargs)
                finally:
                    self.seconds[part] = self.seconds.get(part, 0.0) + time.process_time() - begin

            return call

        return wrap


def measure(name: str, periods: int) -> dict[str, Any]:
    """Return the mean seconds of a step with both methods of K-FAC and without it, and of K-FAC's parts."""
    make, side, batch = CASES[name]
    torch.manual_seed(0)
    x_BCHW, y_B = torch.randn(batch, 1, side, side), torch.randint(CLASSES, (batch,))
    parts: dict[Method, Parts] = {"eigen": Parts(), "inverse": Parts()}
    rules: dict[str, tuple[nn.Module, Sync]] = {"sgd": _rule(make(), None)}
    for method, own in parts.items():
        rules[method] = _rule(make(), (method, own))
    seconds = dict.fromkeys(rules, 0.0)
    for net, rule in rules.values():
        _step(net, rule, x_BCHW, y_B)  # the first step allocates memory
    for own in parts.values():
        own.seconds.clear()
    block = 10
    for number in range(periods * PERIOD // block):
        order = list(rules) if number % 2 else list(rules)[::-1]
        for one in order:
            begin = time.process_time()
            for _ in range(block):
                _step(*rules[one], x_BCHW, y_B)
            seconds[one] += time.process_time() - begin
    steps = periods * PERIOD
    return {
        "case": name,
        "steps": steps,
        "sgd_s": seconds["sgd"] / steps,
        "kfac": {
            method: {
                "step_s": seconds[method] / steps,
                "by_sgd": seconds[method] / seconds["sgd"],
                "parts_s": {part: spent / steps for part, spent in own.seconds.items()},
            }
            for method, own in parts.items()
        },
    }


def _rule(net: nn.Module, measured: tuple[Method, Parts] | None) -> tuple[nn.Module, Sync]:
    optimizer = make_sgd([{"params": list(net.parameters())}], momentum=0.9, weight_decay=0.0005, nesterov=False)
    for group in optimizer.param_groups:
        group["lr"] = 0.001
    if measured is not None:
        method, parts = measured
        factor_every, inverse_every = Staged(FACTOR_EVERY), Staged(PERIOD)
        options = KFACOptions(factor_every, inverse_every, damping=Staged(0.03), method=method)
        kfac = KFAC(
            net,
            options,
            timed_factors=parts.timer("factors"),
            timed_inverses=parts.timer("inverses"),
            timed=parts.timer("precondition"),
        )
        kfac.attach(optimizer)
    return net, Sync(net.parameters(), optimizer, allreduce=_alone, world=1)


def _step(net: nn.Module, rule: Sync, x_BCHW: Tensor, y_B: Tensor) -> None:
    loss = cross_entropy(net(x_BCHW), y_B)
    torch.autograd.backward(loss)
    rule.step(loss.detach())


def _alone(x_N: Tensor) -> None:
    """Do nothing: the sum over a world of one."""
