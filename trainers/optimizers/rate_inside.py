"""Momentum SGD with the rate inside the velocity, as Caffe has it (Jia et al., 2014).

    v = m v + r (g + b w)       r the rate of this step, m momentum, b weight decay
    w = w - v

You, Buluc & Demmel (2017) write it as equations (3) to (5), and FireCaffe (Iandola et al., 2015) trains with Caffe. In
torch.optim.SGD the rate is outside: v = m v + g, w = w - r v. The two agree while the rate is constant. When the rate
falls, this form still takes the earlier steps at their own, higher rate.
"""

from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from trainers.optimizers.layer_optimizer import LayerOptimizer
from trainers.optimizers.layers import states
from trainers.optimizers.momentum import momentum_step


class RateInsideSGD(LayerOptimizer):
    """Momentum SGD whose velocity holds steps, not gradients."""

    def __init__(self, params: ParamsT, lr: float, *, momentum: float = 0.9, weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    def _update(self, ws: list[Tensor], gs: list[Tensor], group: dict[str, Any]) -> None:
        dtype = torch.promote_types(ws[0].dtype, torch.float32)
        rate_L = torch.full((len(ws),), float(group["lr"]), dtype=dtype, device=ws[0].device)
        vs = states(self.state, ws, "velocity")
        momentum_step(ws, gs, vs, rate_L, momentum=group["momentum"], weight_decay=group["weight_decay"])
