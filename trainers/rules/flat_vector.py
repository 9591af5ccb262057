"""Packed parameters: weights or gradients of all layers in one vector (You, Buluç & Demmel, 2017, section 5.2).

One message instead of one per layer costs one latency instead of L: L alpha + N beta becomes alpha + N beta; and what
the optimizer and the wire read lies in one piece, so nothing is copied to send it.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.collectives.runners.allreduce import Allreduce


def weights(params: Sequence[Parameter]) -> Tensor:
    """Move the weights into one flat vector x_N, of which every parameter is a view from now on."""
    x_N = torch.cat([p.detach().flatten() for p in params])
    for p, part in zip(params, views(x_N, params), strict=True):
        p.data = part
    return x_N


class Gradients:
    """The gradients as views into one flat vector, where backward writes them; `extra` elements follow at its end."""

    def __init__(self, params: Iterable[Parameter], *, extra: int = 0) -> None:
        self._params = list(params)
        first = self._params[0]
        count = sum(p.numel() for p in self._params)
        self.flat_N = torch.zeros(count + extra, dtype=first.dtype, device=first.device)
        self._views = views(self.flat_N[:count], self._params)
        for p, view in zip(self._params, self._views, strict=True):
            p.grad = view

    def refuse_strangers(self) -> None:
        """Raise RuntimeError if a gradient does not lie in the vector any more."""
        if any(p.grad is not view for p, view in zip(self._params, self._views, strict=True)):
            raise RuntimeError("a gradient was replaced; this rule clears them itself, so leave out zero_grad()")


class Packed:
    """A flat vector that gradients are copied into; `extra` elements follow at its end.

    Where only a step's mean gradient is wanted this moves fewer bytes than `Gradients`: backward hands over tensors of
    its own, where to views it would add, and the views would have to be cleared.
    """

    def __init__(self, params: Iterable[Parameter], *, extra: int = 0) -> None:
        self.params = list(params)
        first = self.params[0]
        count = sum(p.numel() for p in self.params)
        self.flat_N = torch.zeros(count + extra, dtype=first.dtype, device=first.device)
        parts = torch.split(self.flat_N[:count], [p.numel() for p in self.params])
        # in the parameter's own order of bytes, as backward makes the gradient
        self._views = [part.as_strided(p.shape, p.stride()) for part, p in zip(parts, self.params, strict=True)]

    def gather(self, factor: float) -> Tensor:
        """Return the vector, filled with the gradients times `factor`; a parameter without one counts as 0.

        Every gradient is the view of its part of the vector from now on.
        """
        for p, view in zip(self.params, self._views, strict=True):
            if p.grad is None:
                view.zero_()
            else:
                torch.mul(p.grad, factor, out=view)
            p.grad = view
        return self.flat_N


def views(flat_N: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    """Cut a flat vector into views with the shapes of `params`."""
    parts = torch.split(flat_N, [p.numel() for p in params])
    return [part.view(p.shape) for part, p in zip(parts, params, strict=True)]


def per_layer(allreduce: Allreduce, lengths: Sequence[int]) -> Allreduce:
    """The same sum in one message per layer: what packing is measured against."""

    def allreduce_each(x_N: Tensor) -> None:
        for part_n in torch.split(x_N, list(lengths)):
            allreduce(part_n)

    return allreduce_each
