"""The KL clip: bound how far a step moves the net's predictions (Pauloski et al., 2020; Ba, Grosse & Martens, 2017).

    nu = min(1, sqrt(kappa / (rate^2 sum_l |g_l . p_l|)))       g_l gradient, p_l preconditioned gradient of layer l

rate^2 p . g approximates twice the KL divergence of the predictions before and after a step along p, because p is the
gradient times the inverse of the Fisher matrix.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def clip_factor(grads: Sequence[Tensor], preconditioned: Sequence[Tensor], *, rate: float, kappa: float) -> Tensor:
    """Return nu as a tensor of one number, so that no step waits for the device."""
    products = [(grad * p).sum().abs() for grad, p in zip(grads, preconditioned, strict=True)]
    total = torch.stack(products).sum() * rate**2
    return (kappa / total).sqrt().clamp(max=1.0)  # infinite, and so 1, where the rate or the gradient is 0
