"""Measure the operations and the stored activations of a forward pass on torch's meta device, which computes nothing.

The activations are the tensors that autograd saves for the backward pass, each once, without weights and buffers.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

BATCHES = (2, 4)  # whose difference is what one sample adds


class PassCosts(NamedTuple):
    """What one sample costs: operations of the forward pass, bytes saved for backward, bytes of the largest of them."""

    flops: int
    saved_bytes: int
    largest_bytes: int


def measure_net(net: nn.Module, shape: tuple[int, int, int], classes: int) -> PassCosts:
    """Return the costs per sample of a net on the meta device, in training mode and with the cross entropy."""
    small, large = (_measure(net, (batch, *shape), classes) for batch in BATCHES)
    per_sample = [(big - less) // (BATCHES[1] - BATCHES[0]) for big, less in zip(large, small, strict=True)]
    return PassCosts(*per_sample)


def _measure(net: nn.Module, shape: tuple[int, ...], classes: int) -> tuple[int, int, int]:
    x_BCHW = torch.empty(shape, device="meta")
    y_B = torch.zeros(shape[0], dtype=torch.int64, device="meta")
    with FlopCounterMode(display=False) as counter:
        saved = saved_sizes(net, x_BCHW, y_B)
    return counter.get_total_flops(), sum(saved), max(saved)


def saved_sizes(net: nn.Module, x_BCHW: Tensor, y_B: Tensor) -> list[int]:
    """Return the bytes of each storage that a forward pass saves, without weights, buffers and the batch itself."""
    own = {id_of(tensor) for tensor in (*net.parameters(), *net.buffers(), x_BCHW, y_B)}
    found: dict[int, Tensor] = {}  # the tensors stay alive, so that no id is used twice

    def pack(tensor: Tensor) -> Tensor:
        if id_of(tensor) not in own:
            found[id_of(tensor)] = tensor
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = net(x_BCHW)
        heads = outputs if isinstance(outputs, tuple | list) else [outputs]
        loss = torch.stack([cross_entropy(logits_BK, y_B) for logits_BK in heads]).sum()
    sizes = [tensor.untyped_storage().nbytes() for tensor in found.values()]
    assert loss.requires_grad
    return sizes


def id_of(tensor: Tensor) -> int:
    """Return the identity of a tensor's storage, which its views share."""
    return int(tensor.untyped_storage()._cdata)
