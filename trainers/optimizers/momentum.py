"""A momentum step with one rate per layer, in few passes over memory; the rates are inside the velocity.

    v = m v + r (g + b w)       r_l the rate of layer l, m momentum, b weight decay
    w = w - v

A step must read w, g, v and write w, v: five passes. On a CPU torch's fused SGD makes exactly these: with a rate of 1
its step is v = m v + (1 - dampening) (g + b w), w = w - v, so a dampening of 1 - r_l gives the rate r_l, up to the last
bits of a double. The fused SGD needs the rates as numbers. On other devices reading a number would wait for the device,
so the rates stay tensors and the step is four operations.

Legend: L layers.
"""

import torch
from torch import Tensor


def momentum_step(
    ws: list[Tensor], gs: list[Tensor], vs: list[Tensor], rate_L: Tensor, *, momentum: float, weight_decay: float
) -> None:
    """Update the weights `ws` and the velocities `vs` by the gradients `gs`, which stay unchanged."""
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
    """Return whether the fused kernel supports these tensors, which it reads in the order of memory.

    In torch 2.13 it updates only the last few of 16-bit weights, which is a bug.
    """
    return all(
        w.device.type == "cpu"
        and w.dtype == g.dtype == v.dtype
        and w.dtype in (torch.float32, torch.float64)
        and w.stride() == g.stride() == v.stride()
        and (w.is_contiguous() or w.is_contiguous(memory_format=torch.channels_last))
        for w, g, v in zip(ws, gs, vs, strict=True)
    )
