"""The backend's own all-reduce (gloo on CPUs, NCCL on GPUs): the baseline for every plan."""

import torch.distributed as dist
from torch import Tensor


def allreduce(x_N: Tensor) -> None:
    """Sum the flat vector over all ranks, in place."""
    dist.all_reduce(x_N)
