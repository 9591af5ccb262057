"""A step of momentum at a rate per layer, rates folded into the velocity, in few passes over memory.

    v = m v + r (g + b w)       r_l the rate of layer l, m momentum, b weight decay
    w = w - v

A step cannot read and write less than w, g, v and w, v: five passes. On a CPU torch's fused SGD makes just these: with
a rate of 1 its step is v = m v + (1 - dampening) (g + b w), w = w - v, so a dampening of 1 - r_l is our rate, to the
last bits of a double. It wants the rates as numbers, which are free to read there. Elsewhere reading one would wait for
the device, so the rates stay tensors and the step is four operations.

Legend: L layers.
"""

import torch
from torch import Tensor


def descend(
    ws: list[Tensor], gs: list[Tensor], vs: list[Tensor], rate_L: Tensor, *, momentum: float, weight_decay: float
) -> None:
    """Step the weights `ws` along the gradients `gs` with the velocities `vs`; the gradients stay as they are."""
    if _is_fusible(ws, gs, vs):
        for w, g, v, rate in zip(ws, gs, vs, rate_L.tolist(), strict=True):
            torch._fused_sgd_(
                [w],
                [g],
                [v],
                weight_decay=weight_decay,
                momentum=momentum,
                lr=1.0,
                dampening=1 - rate,
                nesterov=False,
                maximize=False,
                is_first_step=False,
            )
        return
    torch._foreach_mul_(vs, momentum)
    torch._foreach_addcmul_(vs, gs, list(rate_L.unbind()))
    if weight_decay:
        torch._foreach_addcmul_(vs, ws, list((weight_decay * rate_L).unbind()))
    torch._foreach_sub_(ws, vs)


def _is_fusible(ws: list[Tensor], gs: list[Tensor], vs: list[Tensor]) -> bool:
    """The fused kernel reads the three of a layer number by number, as they lie in memory.

    In torch 2.13 it leaves 16-bit weights where they were, but for the last few.
    """
    return all(
        w.device.type == "cpu"
        and w.dtype == g.dtype == v.dtype
        and w.dtype in (torch.float32, torch.float64)
        and w.stride() == g.stride() == v.stride()
        and (w.is_contiguous() or w.is_contiguous(memory_format=torch.channels_last))
        for w, g, v in zip(ws, gs, vs, strict=True)
    )
