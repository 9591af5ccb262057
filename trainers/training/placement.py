"""Place a net on its device: its memory layout, the precision of its float32 kernels, and its compilation."""

from typing import Any

import torch
from torch import nn

from trainers.models.group_batch_norm import GroupBatchNorm


def place(model: nn.Module, device: torch.device, *, channels_last: bool) -> nn.Module:
    """Move a net to its device, its weights in the layout of the images.

    A convolution whose images and weights have different layouts copies one of them in every pass.
    """
    model = model.to(device)
    return model.to(memory_format=torch.channels_last) if channels_last else model  # type: ignore[call-overload]


def compile_net(model: nn.Module, *, world: int) -> None:
    """Compile a net in place, so that rule and optimizer refer to the same parameters, and their names stay.

    The gradients of what is compiled together arrive together. With several ranks the blocks of the net are compiled
    each by itself, so that the sum of a block's gradients begins while backward computes the blocks before it.
    """
    for norm in [module for module in model.modules() if isinstance(module, GroupBatchNorm)]:
        # it exchanges statistics between ranks, and the timer measures the exchange: the compiler can trace neither
        setattr(norm, "forward", torch.compiler.disable(norm.forward))  # type: ignore[no-untyped-call]  # noqa: B010
    blocks = find_blocks(model)
    for part in blocks if world > 1 and len(blocks) > 1 else [model]:
        _compile(part)


def find_blocks(model: nn.Module) -> list[nn.Module]:
    """Return the modules of several layers that a net's own code or its sequences call."""
    found: list[nn.Module] = []
    for child in model.children():
        if isinstance(child, nn.Sequential | nn.ModuleList):
            found += find_blocks(child)
        elif list(child.children()):
            found.append(child)
    return found


def _compile(module: nn.Module) -> None:
    if not type(module).__module__.startswith("torch.nn."):
        module.compile()
        return
    forward = module.forward

    def call(*inputs: Any) -> Any:  # torch's compiler skips functions of torch itself, such as a Sequential's forward
        return forward(*inputs)

    setattr(module, "forward", torch.compile(call))  # noqa: B010  # mypy allows no assignment to a method


def set_kernels(*, tf32: bool, cudnn_benchmark: bool) -> None:
    """Choose the kernels of this process's GPU.

    torch allows TF32 in convolutions and LSTMs by default, and not in matrix products: here both follow the spec.
    """
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = cudnn_benchmark
