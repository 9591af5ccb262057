"""Gradient clipping by global norm (Pascanu, Mikolov & Bengio, 2013): g <- g min(1, c / ||g||).

||g|| is the norm over all parameters together, computed before the optimizer's step: with synchronous ranks it is the
norm of the averaged gradient, which is equal on all ranks.
"""

from typing import Any

import torch
from torch.utils.hooks import RemovableHandle


def clip(optimizer: torch.optim.Optimizer, norm: float) -> RemovableHandle:
    """Clip the gradients to `norm` (c) before each step of `optimizer`; the handle's remove() ends this."""

    def before(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(params, norm)

    return optimizer.register_step_pre_hook(before)
