"""Flat vectors: the weights or gradients of all layers in one vector (You, Buluç & Demmel, 2017, section 5.2).

One message instead of one per layer costs one latency instead of L: L alpha + N beta becomes alpha + N beta. The
optimizer and the network read the same contiguous memory, so sending needs no copy.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.utils.dlpack import from_dlpack

from trainers.collectives.runners.allreduce import Allreduce
from trainers.optimizers.layers import check_dense


def order_in_memory(params: Sequence[Parameter]) -> list[Parameter]:
    """Return the parameters in an order in which a flat vector preserves their layout.

    cuDNN reads all weights of an LSTM from one block of memory, in an order of its own, and torch puts them there when
    the LSTM moves to a GPU (RNNBase.flatten_parameters). Parameters that fill a storage together keep the order that
    they have in it; the order of all other parameters stays.
    """
    return [p for block in _blocks(params) for p in block]


def flatten_weights(params: Sequence[Parameter]) -> Tensor:
    """Copy the weights into one flat vector x_N, and make every parameter a view of it, with the strides that it had.

    A block of parameters of one storage stays in one storage of its own, which begins at the block, as cuDNN requires.
    """
    blocks = _blocks(params)
    if any(p is not q for p, q in zip((p for block in blocks for p in block), params, strict=True)):
        raise ValueError("the parameters are not in the order of their memory: see order_in_memory")
    x_N = torch.cat([_in_memory_order(p.detach()) for p in params])
    stops = list(accumulate(sum(p.numel() for p in block) for block in blocks))
    for block, stop in zip(blocks, stops, strict=True):
        part_n = x_N[stop - sum(p.numel() for p in block) : stop]
        if len(block) > 1:
            part_n = from_dlpack(part_n)  # the same memory, as a storage that begins here
        for p, view in zip(block, views(part_n, block), strict=True):
            p.data = view
    return x_N


def _blocks(params: Sequence[Parameter]) -> list[list[Parameter]]:
    """Divide parameters into blocks, each the whole of a storage or a single parameter, at the first one's place."""
    by_storage: dict[int, list[Parameter]] = {}
    for p in params:
        by_storage.setdefault(p.untyped_storage().data_ptr(), []).append(p)
    blocks = []
    for together in by_storage.values():
        block = sorted(together, key=lambda p: p.storage_offset())
        stops = list(accumulate(p.numel() for p in block))
        is_whole = [p.storage_offset() for p in block] == [0, *stops[:-1]] and all(p.is_contiguous() for p in block)
        blocks += [block] if is_whole else [[p] for p in together]
    return blocks


def _in_memory_order(x: Tensor) -> Tensor:
    """Return the elements in the order of memory, with which a view of the same strides has the same elements."""
    return x.as_strided((x.numel(),), (1,)) if _is_dense(x) else x.flatten()


def _is_dense(x: Tensor) -> bool:
    return bool(torch.ops.aten.is_non_overlapping_and_dense(x))


class PackedGradients:
    """A flat vector into which gradients of one type are copied; `extra` elements follow at its end.

    This moves fewer bytes than gradients that are views all the time: backward returns new tensors, whereas it would
    add to views, and the views would have to be cleared.
    """

    def __init__(self, params: Iterable[Parameter], *, extra: int = 0) -> None:
        self.params = list(params)
        first = self.params[0]
        count = sum(p.numel() for p in self.params)
        self.flat_N = torch.zeros(count + extra, dtype=first.dtype, device=first.device)
        # with the parameter's strides, which backward gives the gradient too
        self._views = views(self.flat_N[:count], self.params)
        self.missing: list[int] = []  # numbers of the parameters that had no gradient when `gather` filled the vector

    def gather(self, factor: float) -> Tensor:
        """Fill the vector with the gradients times `factor`, 0 for a parameter without a gradient, and return it.

        Every gradient becomes a view of its part of the vector. Raise ValueError if a gradient is sparse.
        """
        self.missing = []
        for number, (p, view) in enumerate(zip(self.params, self._views, strict=True)):
            if p.grad is None:
                self.missing.append(number)
                view.zero_()
            else:
                check_dense(p.grad)
                torch.mul(p.grad, factor, out=view)
            p.grad = view
        return self.flat_N


def views(flat_N: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    """Return views of a flat vector with the shapes of `params`, and with their strides if these leave no gaps."""
    parts = torch.split(flat_N, [p.numel() for p in params])
    return [
        part.as_strided(p.shape, p.stride()) if _is_dense(p) else part.view(p.shape)
        for part, p in zip(parts, params, strict=True)
    ]


def allreduce_per_layer(allreduce: Allreduce, lengths: Sequence[int]) -> Allreduce:
    """Return an all-reduce with one message per layer, as the baseline for packing."""

    def allreduce_each(x_N: Tensor) -> None:
        for part_n in torch.split(x_N, list(lengths)):
            allreduce(part_n)

    return allreduce_each
