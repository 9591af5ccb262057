"""Flat vectors: the weights or gradients of all layers in one vector (You, Buluç & Demmel, 2017, section 5.2).

One message instead of one per layer costs one latency instead of L: L alpha + N beta becomes alpha + N beta. The
optimizer and the network read the same contiguous memory, so sending needs no copy.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.collectives.runners.allreduce import Allreduce


def flatten_weights(params: Sequence[Parameter]) -> Tensor:
    """Copy the weights into one flat vector x_N, and make every parameter a view of it."""
    x_N = torch.cat([p.detach().flatten() for p in params])
    for p, part in zip(params, views(x_N, params), strict=True):
        p.data = part
    return x_N


class GradientViews:
    """Gradients that are views into one flat vector, to which backward adds; `extra` elements follow at its end."""

    def __init__(self, params: Iterable[Parameter], *, extra: int = 0) -> None:
        self._params = list(params)
        first = self._params[0]
        count = sum(p.numel() for p in self._params)
        self.flat_N = torch.zeros(count + extra, dtype=first.dtype, device=first.device)
        self._views = views(self.flat_N[:count], self._params)
        for p, view in zip(self._params, self._views, strict=True):
            p.grad = view

    def check_views(self) -> None:
        """Raise RuntimeError if a gradient is no longer a view of the vector."""
        if any(p.grad is not view for p, view in zip(self._params, self._views, strict=True)):
            raise RuntimeError(
                "a gradient was replaced; this rule clears the gradients itself, so do not call zero_grad()"
            )


class PackedGradients:
    """A flat vector into which gradients are copied; `extra` elements follow at its end.

    If only a step's mean gradient is needed, this moves fewer bytes than `GradientViews`: backward returns new tensors,
    whereas it would add to views, and the views would have to be cleared.
    """

    def __init__(self, params: Iterable[Parameter], *, extra: int = 0) -> None:
        self.params = list(params)
        first = self.params[0]
        count = sum(p.numel() for p in self.params)
        self.flat_N = torch.zeros(count + extra, dtype=first.dtype, device=first.device)
        parts = torch.split(self.flat_N[:count], [p.numel() for p in self.params])
        # with the parameter's strides, which backward gives the gradient too
        self._views = [part.as_strided(p.shape, p.stride()) for part, p in zip(parts, self.params, strict=True)]

    def gather(self, factor: float) -> Tensor:
        """Fill the vector with the gradients times `factor`, 0 for a parameter without a gradient, and return it.

        Every gradient becomes a view of its part of the vector.
        """
        for p, view in zip(self.params, self._views, strict=True):
            if p.grad is None:
                view.zero_()
            else:
                torch.mul(p.grad, factor, out=view)
            p.grad = view
        return self.flat_N


def views(flat_N: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    """Return views of a flat vector with the shapes of `params`."""
    parts = torch.split(flat_N, [p.numel() for p in params])
    return [part.view(p.shape) for part, p in zip(parts, params, strict=True)]


def allreduce_per_layer(allreduce: Allreduce, lengths: Sequence[int]) -> Allreduce:
    """Return an all-reduce with one message per layer, as the baseline for packing."""

    def allreduce_each(x_N: Tensor) -> None:
        for part_n in torch.split(x_N, list(lengths)):
            allreduce(part_n)

    return allreduce_each
