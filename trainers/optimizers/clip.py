"""Gradient clipping by global norm (Pascanu, Mikolov & Bengio, 2013): g <- g min(1, c / ||g||).

||g|| is the norm over all parameters together, computed before the optimizer's step: with synchronous ranks it is the
norm of the averaged gradient, which is equal on all ranks.
"""

from typing import Any

import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.utils.hooks import RemovableHandle

from trainers.optimizers.gradient_check import GradientCheck


def clip(optimizer: torch.optim.Optimizer, norm: float, check: GradientCheck | None = None) -> RemovableHandle:
    """Clip the gradients to `norm` (c) before each step of `optimizer`; the handle's remove() ends this.

    `check` raises GradientsNotFinite, before the gradients change, if ||g|| is not finite.
    """

    def before(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        total = get_total_norm([p.grad for p in params if p.grad is not None])
        if check is not None:
            check.check_norm(total)
        clip_grads_with_norm_(params, norm, total)

    return optimizer.register_step_pre_hook(before)
