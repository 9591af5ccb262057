"""Mixed precision (Micikevicius et al., 2018): 16-bit passes, float32 weights, norms and updates.

Small gradients vanish in float16, so the loss is multiplied by a scale s before the backward pass and the gradients are
divided by it before the update. A step whose gradients are not all finite is skipped and s is halved; after
DOUBLING_STEPS steps in a row that were not skipped, s is doubled. bfloat16 has float32's range and needs no scale.
Messages in float16 need a scale too, also after passes in float32.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

FIRST_SCALE = 2.0**16
WIRE_SCALE = 2.0**10  # of float16 messages: gradients from 6e-11 to 64 arrive, so that no first step is skipped
LEAST_SCALE = 2.0**-10  # gradients that overflow at this scale are not finite at any scale
DOUBLING_STEPS = 2000


class Overflow(ArithmeticError):
    """The gradients are not finite even at the smallest loss scale."""


class Precision:
    """The type of the forward passes: `dtype` is float32, bfloat16 or float16."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype, self._device = dtype, device

    def passes(self) -> AbstractContextManager[Any]:
        """Return a context in which torch computes suitable operations in 16 bits, for float32 an empty one."""
        if self._dtype is torch.float32:
            return nullcontext()
        return torch.autocast(self._device.type, self._dtype)


class LossScale:
    """The scale s of the loss.

    The gradients are averaged over the ranks before the optimizer reads them, and a sum with an infinite term is not
    finite, so all ranks skip the same steps and have the same scale.
    """

    def __init__(self, scale: float = FIRST_SCALE) -> None:
        self.scale = self._first = scale
        self._clean_steps = 0
        self._skipped: list[tuple[Tensor, Tensor]] = []  # parameters and gradients of a skipped step

    def attach(self, optimizer: Optimizer) -> None:
        """Unscale the gradients before each optimizer step; attach this before other hooks that read gradients."""
        optimizer.register_step_pre_hook(self._before)
        optimizer.register_step_post_hook(self._after)

    def state_dict(self) -> dict[str, float]:
        """Return the scale and the number of steps since the last skipped step."""
        return {"scale": self.scale, "clean_steps": self._clean_steps}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Restore what `state_dict` returned."""
        self.scale, self._clean_steps = state["scale"], int(state["clean_steps"])

    @torch.no_grad()
    def unscale(self, grads: list[Tensor]) -> bool:
        """Divide the gradients by the scale, in one pass over memory; return whether all are finite."""
        by_type: dict[torch.dtype, list[Tensor]] = {}  # torch's kernel for GPUs takes gradients of one type
        for grad in grads:
            by_type.setdefault(grad.dtype, []).append(grad)
        if not by_type:
            return True
        infinite = torch.zeros(1, device=grads[0].device)
        inverse = torch.full_like(infinite, 1 / self.scale)
        for of_type in by_type.values():
            torch._amp_foreach_non_finite_check_and_unscale_(of_type, infinite, inverse)
        return not infinite.item()

    def _before(self, optimizer: Optimizer, *_: Any) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not self.unscale([p.grad for p in params if p.grad is not None]):
            self._skipped = [(p, p.grad) for p in params]
            for p in params:  # an optimizer skips parameters without a gradient
                p.grad = None

    def _after(self, *_: Any) -> None:
        for p, grad in self._skipped:
            p.grad = grad
        was_skipped, self._skipped = bool(self._skipped), []
        self.adjust(was_skipped=was_skipped)

    def adjust(self, *, was_skipped: bool) -> None:
        """Set the scale of the next step; raise Overflow if the gradients overflow at every scale."""
        if was_skipped:
            self._clean_steps = 0
            self.scale /= 2
            if self.scale < LEAST_SCALE:
                raise Overflow(
                    f"the gradients are not finite at any loss scale from {self._first:g} to {LEAST_SCALE:g}"
                )
            return
        self._clean_steps += 1
        if self._clean_steps == DOUBLING_STEPS:
            self._clean_steps = 0
            self.scale *= 2
