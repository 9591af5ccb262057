"""LARS (You, Gitman & Ginsburg, 2017, arXiv:1708.03888, Algorithm 1): one rate per layer.

    lam = eta ||w|| / (||g|| + b ||w||)         b weight decay, eta trust coefficient
    v   = m v + g_t lam (g + b w)               m momentum, g_t the schedule's rate
    w   = w - v

The rates are inside v, as in the authors' Caffe: a change of the rate does not affect earlier steps in v.
If ||w|| or ||g|| is 0, lam is 1. LARC, in later versions of this Caffe, omits b ||w|| in lam, and

    scales      the rate is g_t lam
    clips       the rate is min(g_t, lam)

Legend: L layers that are updated together.
"""

from typing import Any, Literal, assert_never

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from trainers.optimizers.layer_optimizer import LayerOptimizer
from trainers.optimizers.layers import norms, ratio, states
from trainers.optimizers.momentum import momentum_step

Form = Literal["lars", "larc_scale", "larc_clip"]


class LARS(LayerOptimizer):
    """Every tensor is one layer. A group with `adapt=False` uses momentum SGD with rate g_t, without weight decay."""

    def __init__(
        self,
        params: ParamsT,
        lr: float,
        *,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        trust_coefficient: float = 0.001,
        epsilon: float = 0.0,  # added to ||g|| + b ||w||
        form: Form = "lars",
    ) -> None:
        defaults: dict[str, Any] = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "epsilon": epsilon}
        for name, value in defaults.items():
            if value < 0:
                raise ValueError(f"{name} must be at least 0, not {value}")
        if trust_coefficient <= 0:
            raise ValueError(f"trust_coefficient must be above 0, not {trust_coefficient}")
        super().__init__(params, {**defaults, "trust_coefficient": trust_coefficient, "form": form, "adapt": True})

    def _update(self, ws: list[Tensor], gs: list[Tensor], group: dict[str, Any]) -> None:
        weight_decay = group["weight_decay"] if group["adapt"] else 0.0
        rate_L, vs = rates(ws, gs, group), states(self.state, ws, "velocity")
        momentum_step(ws, gs, vs, rate_L, momentum=group["momentum"], weight_decay=weight_decay)


def rates(ws: list[Tensor], gs: list[Tensor], group: dict[str, Any]) -> Tensor:
    """Return the rate of each layer times the schedule's rate; as a tensor, so that no step waits for the device."""
    g_t: float = group["lr"]
    form: Form = group["form"]
    w_norm_L = norms(ws)
    if not group["adapt"]:
        return torch.full_like(w_norm_L, g_t)
    decay = group["weight_decay"] if form == "lars" else 0.0
    denominator_L = norms(gs)
    denominator_L = torch.where(denominator_L > 0, denominator_L + decay * w_norm_L + group["epsilon"], 0.0)
    lam_L = ratio(group["trust_coefficient"] * w_norm_L, denominator_L)
    match form:
        case "lars" | "larc_scale":
            return g_t * lam_L
        case "larc_clip":
            return lam_L.clamp(max=g_t)
        case _:
            assert_never(form)
