"""LAMB (You et al., 2020, arXiv:1904.00962, Algorithm 2): Adam with one rate per layer.

    m = b1 m + (1 - b1) g           v = b2 v + (1 - b2) g^2
    u = (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon) + b w       b weight decay
    w = w - g_t (||w|| / ||u||) u                                       g_t the schedule's rate

If ||w|| or ||u|| is 0, their ratio is 1. The paper's phi, which can bound ||w||, is the identity, as in its code.
Legend: L layers that are updated together.
"""

from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from trainers.optimizers.layer_optimizer import LayerOptimizer
from trainers.optimizers.layers import norms, ratio, states


class LAMB(LayerOptimizer):
    """Every tensor is one layer. A group with `adapt=False` uses plain Adam with rate g_t, without weight decay."""

    def __init__(
        self,
        params: ParamsT,
        lr: float,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        weight_decay: float = 0.01,
        epsilon: float = 1e-6,
    ) -> None:
        for name, value in (("lr", lr), ("weight_decay", weight_decay), ("epsilon", epsilon)):
            if value < 0:
                raise ValueError(f"{name} must be at least 0, not {value}")
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas must be at least 0 and below 1, not {betas}")
        defaults = {"lr": lr, "betas": betas, "weight_decay": weight_decay, "epsilon": epsilon}
        super().__init__(params, {**defaults, "adapt": True})

    def _update(self, ws: list[Tensor], gs: list[Tensor], group: dict[str, Any]) -> None:
        us = self._directions(ws, gs, group)
        if not group["adapt"]:
            torch._foreach_sub_(ws, us, alpha=group["lr"])
            return
        torch._foreach_add_(us, ws, alpha=group["weight_decay"])
        rate_L = group["lr"] * ratio(norms(ws), norms(us))
        torch._foreach_addcmul_(ws, us, list((-rate_L).unbind()))

    def _directions(self, ws: list[Tensor], gs: list[Tensor], group: dict[str, Any]) -> list[Tensor]:
        """Return Adam's update direction of each layer."""
        b1, b2 = group["betas"]
        ms, vs, ts = states(self.state, ws, "m"), states(self.state, ws, "v"), self._count(ws)
        torch._foreach_lerp_(ms, gs, 1 - b1)
        torch._foreach_mul_(vs, b2)
        torch._foreach_addcmul_(vs, gs, gs, 1 - b2)
        roots = list(torch._foreach_div(vs, [1 - b2**t for t in ts]))
        torch._foreach_sqrt_(roots)
        torch._foreach_add_(roots, group["epsilon"])
        us = list(torch._foreach_div(ms, roots))
        torch._foreach_div_(us, [1 - b1**t for t in ts])
        return us

    def _count(self, ws: list[Tensor]) -> list[int]:
        """Return the number of steps of each layer, including this step."""
        for w in ws:
            self.state[w]["steps"] = self.state[w].get("steps", 0) + 1
        return [self.state[w]["steps"] for w in ws]
