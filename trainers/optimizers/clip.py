"""Gradient clipping by global norm (Pascanu, Mikolov & Bengio, 2013): g <- g min(1, c / ||g||).

||g|| is over all parameters together, and taken where the optimizer steps: with synchronous ranks of the averaged
gradient, which is the same on all of them.
"""

from typing import Any

import torch
from torch.utils.hooks import RemovableHandle


def clip(optimizer: torch.optim.Optimizer, norm: float) -> RemovableHandle:
    """Make each step of `optimizer` clip its gradients to `norm` (c) first; the handle's remove() ends it."""

    def before(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(params, norm)

    return optimizer.register_step_pre_hook(before)
