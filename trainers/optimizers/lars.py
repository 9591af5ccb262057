"""LARS (You, Gitman & Ginsburg, 2017, arXiv:1708.03888, Algorithm 1): one rate per layer.

    lam = eta ||w|| / (||g|| + b ||w||)         b weight decay, eta trust coefficient
    v   = m v + g_t lam (g + b w)               m momentum, g_t the schedule's rate
    w   = w - v

The rates are inside v, as in the authors' Caffe: a change of rate leaves the steps already taken alone.
Where ||w|| or ||g|| is 0, lam is 1.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT


class LARS(torch.optim.Optimizer):
    """Every tensor is one layer. A group with `adapt=False` takes plain momentum SGD at g_t, without weight decay."""

    def __init__(
        self,
        params: ParamsT,
        lr: float,
        *,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        trust_coefficient: float = 0.001,
    ) -> None:
        for name, value in (("lr", lr), ("momentum", momentum), ("weight_decay", weight_decay)):
            if value < 0:
                raise ValueError(f"{name} is at least 0, not {value}")
        if trust_coefficient <= 0:
            raise ValueError(f"trust_coefficient is above 0, not {trust_coefficient}")
        rates = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__(params, {**rates, "trust_coefficient": trust_coefficient, "adapt": True})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Make one step along the gradients; parameters without one stay."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for w in group["params"]:
                if w.grad is not None:
                    self._move(w, w.grad, group)
        return loss

    def _move(self, w: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        state = self.state[w]
        if "velocity" not in state:
            state["velocity"] = torch.zeros_like(w)
        if group["adapt"]:
            g = g.add(w, alpha=group["weight_decay"]) * trust_ratio(w, g, group)
        v = state["velocity"].mul_(group["momentum"]).add_(g, alpha=group["lr"])
        w.sub_(v)


def trust_ratio(w: Tensor, g: Tensor, group: dict[str, Any]) -> Tensor:
    """lam of one layer: a scalar tensor, so that nothing waits for the device."""
    # 16-bit norms of large layers overflow
    wide = torch.promote_types(w.dtype, torch.float32)
    w_norm = torch.linalg.vector_norm(w, dtype=wide)
    g_norm = torch.linalg.vector_norm(g, dtype=wide)
    lam = group["trust_coefficient"] * w_norm / (g_norm + group["weight_decay"] * w_norm)
    return torch.where((w_norm > 0) & (g_norm > 0), lam, torch.ones_like(lam))
