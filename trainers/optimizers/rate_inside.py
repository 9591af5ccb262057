"""Momentum SGD with the rate inside the velocity, as Caffe has it (Jia et al., 2014).

    v = m v + r (g + b w)       r the rate of this step, m momentum, b weight decay
    w = w - v

You, Buluc & Demmel (2017) write it as equations (3) to (5), and FireCaffe (Iandola et al., 2015) trains with Caffe. In
torch.optim.SGD the rate is outside: v = m v + g, w = w - r v. The two agree while the rate is constant. When the rate
falls, this form still takes the earlier steps at their own, higher rate.
"""

from collections.abc import Callable

import torch
from torch.optim.optimizer import ParamsT

from trainers.optimizers.layers import dense_gradients, group_layers, states
from trainers.optimizers.momentum import momentum_step


class RateInsideSGD(torch.optim.Optimizer):
    """Momentum SGD whose velocity holds steps, not gradients."""

    def __init__(self, params: ParamsT, lr: float, *, momentum: float = 0.9, weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update all parameters that have a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for ws in group_layers(group["params"]):
                gs, vs = dense_gradients(ws), states(self.state, ws, "velocity")
                dtype = torch.promote_types(ws[0].dtype, torch.float32)
                rate_L = torch.full((len(ws),), float(group["lr"]), dtype=dtype, device=ws[0].device)
                momentum_step(ws, gs, vs, rate_L, momentum=group["momentum"], weight_decay=group["weight_decay"])
        return loss
