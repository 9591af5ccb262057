"""The roofline of a training step on a GPU: bound by matrix units, memory, or neither (launches, small kernels, waits).

A step of B images with F floating-point operations and M bytes of memory traffic per image takes at least

    max(B F / matmul rate, B M / copy rate)

where both rates are measured on the device. F is counted over a forward and a backward pass. M is an estimate for
16-bit activations: every layer's output is written and read in the forward pass and read in the backward pass, and its
gradient is written and read, five times its bytes in total. Fused layers have less traffic.
"""

import time
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

PASSES_OVER_OUTPUTS = 5
BYTES = 2  # of a 16-bit number
SIDE = 8192  # of the square matrices
BOUND_SHARE = 0.5  # a step is bound by a resource if it takes less than twice the resource's minimal time


def cost(net: nn.Module, channels: int, pixels: int) -> tuple[float, float]:
    """Return operations and bytes per image in the training of `net`, which must be on the meta device."""
    outputs: list[int] = []
    for module in net.modules():
        if not list(module.children()):
            module.register_forward_hook(lambda _module, _inputs, output: outputs.append(output.numel()))
    images = torch.empty(2, channels, pixels, pixels, device="meta")  # batch normalization needs two images
    with FlopCounterMode(display=False) as counter:
        output = net(images)
        heads = output if isinstance(output, tuple) else (output,)
        torch.autograd.backward([head.sum() for head in heads])
    return counter.get_total_flops() / 2, PASSES_OVER_OUTPUTS * BYTES * sum(outputs) / 2


def rates(device: torch.device) -> tuple[float, float]:
    """Measure operations/s of a large bfloat16 matrix product and bytes/s of a large copy."""
    a_NN = torch.randn(SIDE, SIDE, device=device, dtype=torch.bfloat16)
    source_N = torch.empty(2**30, device=device, dtype=torch.uint8)
    target_N = torch.empty_like(source_N)
    product_s = _shortest_s(lambda: torch.mm(a_NN, a_NN), device)
    copy_s = _shortest_s(lambda: target_N.copy_(source_N), device)
    return 2 * SIDE**3 / product_s, 2 * 2**30 / copy_s


def classify(images_per_s: float, costs: tuple[float, float], peaks: tuple[float, float]) -> dict[str, float | str]:
    """Return the used share of each resource's rate, and the resource that bounds the step."""
    matmul, memory = (images_per_s * cost / peak for cost, peak in zip(costs, peaks, strict=True))
    bound = "neither: launches, small kernels or waiting"
    if max(matmul, memory) >= BOUND_SHARE:
        bound = "matrix units" if matmul >= memory else "memory"
    return {"matmul_share": matmul, "memory_share": memory, "bound": bound}


def _shortest_s(work: Callable[[], object], device: torch.device) -> float:
    seconds = []
    for _ in range(10):
        torch.cuda.synchronize(device)
        began = time.perf_counter()
        work()
        torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - began)
    return min(seconds)
