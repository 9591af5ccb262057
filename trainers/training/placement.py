"""Place a net on its device: its memory layout, the precision of its float32 kernels, and its compilation."""

import torch
from torch import nn


def place(model: nn.Module, device: torch.device, *, channels_last: bool) -> nn.Module:
    """Move a net to its device, its weights in the layout of the images.

    A convolution whose images and weights have different layouts copies one of them in every pass.
    """
    model = model.to(device)
    return model.to(memory_format=torch.channels_last) if channels_last else model  # type: ignore[call-overload]


def set_kernels(*, tf32: bool, cudnn_benchmark: bool) -> None:
    """Choose the kernels of this process's GPU.

    torch allows TF32 in convolutions and LSTMs by default, and not in matrix products: here both follow the spec.
    """
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = cudnn_benchmark
