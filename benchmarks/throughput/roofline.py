"""What bounds a training step on a GPU: its matrix units, its memory, or neither (launches, small kernels, waiting).

A step of B images with F floating-point operations and M bytes of traffic an image takes at least

    max(B F / matmul rate, B M / copy rate)

where both rates are measured on the device itself. F is counted over a forward and a backward pass. M is an estimate
for 16-bit activations in which every layer's output is written and read in the forward pass, and in the backward pass
read once more, and its gradient written and read: five times its bytes; fused layers move less.
"""

import time
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

PASSES_OVER_OUTPUTS = 5
BYTES = 2  # of a 16-bit number
SIDE = 8192  # of the square matrices
NEAR = 0.5  # a step that takes less than twice the least time of a resource is bound by it


def cost(net: nn.Module, channels: int, pixels: int) -> tuple[float, float]:
    """Return operations and bytes of training `net`, which lies on the meta device, on one image."""
    outputs: list[int] = []
    for module in net.modules():
        if not list(module.children()):
            module.register_forward_hook(lambda _module, _inputs, output: outputs.append(output.numel()))
    images = torch.empty(2, channels, pixels, pixels, device="meta")  # normalization wants two
    with FlopCounterMode(display=False) as counter:
        net(images).sum().backward()
    return counter.get_total_flops() / 2, PASSES_OVER_OUTPUTS * BYTES * sum(outputs) / 2


def rates(device: torch.device) -> tuple[float, float]:
    """Measure the device: operations a second of a large bfloat16 product, bytes a second of a large copy."""
    a_NN = torch.randn(SIDE, SIDE, device=device, dtype=torch.bfloat16)
    source_N = torch.empty(2**30, device=device, dtype=torch.uint8)
    target_N = torch.empty_like(source_N)
    product_s = _fastest(lambda: torch.mm(a_NN, a_NN), device)
    copy_s = _fastest(lambda: target_N.copy_(source_N), device)
    return 2 * SIDE**3 / product_s, 2 * 2**30 / copy_s


def judge(images_per_s: float, costs: tuple[float, float], peaks: tuple[float, float]) -> dict[str, float | str]:
    """Say which share of each resource's rate the step uses, and which one bounds it."""
    matmul, memory = (images_per_s * cost / peak for cost, peak in zip(costs, peaks, strict=True))
    bound = "neither: launches, small kernels or waiting"
    if max(matmul, memory) >= NEAR:
        bound = "matrix units" if matmul >= memory else "memory"
    return {"matmul_share": matmul, "memory_share": memory, "bound": bound}


def _fastest(work: Callable[[], object], device: torch.device) -> float:
    seconds = []
    for _ in range(10):
        torch.cuda.synchronize(device)
        began = time.perf_counter()
        work()
        torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - began)
    return min(seconds)
