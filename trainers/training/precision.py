"""Mixed precision (Micikevicius et al., 2018): 16-bit passes, float32 weights, norms and updates.

Small gradients vanish in float16, so the loss is multiplied by a scale s before the backward pass and the gradients are
divided by it before the update. A step whose gradients are not all finite is left out and s halved; after PATIENCE
steps without one s is doubled. bfloat16 has float32's range and needs none of this.
"""

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

FIRST_SCALE = 2.0**16
LEAST_SCALE = 2.0**-10  # gradients that overflow even so are not finite at any scale
PATIENCE = 2000  # steps


class Overflow(ArithmeticError):
    """Gradients are not finite, however small the loss is scaled."""


class Precision:
    """How the passes are computed: `dtype` is float32, bfloat16 or float16."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype, self._device = dtype, device

    def passes(self) -> AbstractContextManager[Any]:
        """Inside, what bears it is computed in 16 bits."""
        wide = self._dtype is torch.float32
        return torch.autocast(self._device.type, None if wide else self._dtype, enabled=not wide)


class LossScale:
    """The scale s of the loss.

    Gradients are averaged over the ranks before an optimizer sees them, and the sum of anything and infinity is not
    finite: all ranks leave out the same steps and keep the same scale.
    """

    def __init__(self, scale: float = FIRST_SCALE) -> None:
        self.scale = scale
        self._clean_steps = 0
        self._kept: list[tuple[Tensor, Tensor]] = []  # parameters of a step that is left out, and their gradients

    def attach(self, optimizer: Optimizer) -> None:
        """Have the optimizer's steps see true gradients; attached before whatever else looks at them."""
        optimizer.register_step_pre_hook(self._before)
        optimizer.register_step_post_hook(self._after)

    def state_dict(self) -> dict[str, float]:
        return {"scale": self.scale, "clean_steps": self._clean_steps}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.scale, self._clean_steps = state["scale"], int(state["clean_steps"])

    @torch.no_grad()
    def _before(self, optimizer: Optimizer, *_: Any) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        grads = [p.grad for p in params]
        infinite = torch.zeros(1, device=grads[0].device)
        # one pass over all gradients: divide, and look whether they are finite
        torch._amp_foreach_non_finite_check_and_unscale_(grads, infinite, torch.full_like(infinite, 1 / self.scale))
        if infinite.item():
            self._kept = [(p, p.grad) for p in params]
            for p in params:  # an optimizer passes over parameters without a gradient
                p.grad = None

    def _after(self, *_: Any) -> None:
        if self._kept:
            for p, grad in self._kept:
                p.grad = grad
            self._kept, self._clean_steps = [], 0
            self.scale /= 2
            if self.scale < LEAST_SCALE:
                raise Overflow(
                    f"the gradients are not finite at any loss scale from {FIRST_SCALE:g} to {LEAST_SCALE:g}"
                )
            return
        self._clean_steps += 1
        if self._clean_steps == PATIENCE:
            self._clean_steps = 0
            self.scale *= 2
