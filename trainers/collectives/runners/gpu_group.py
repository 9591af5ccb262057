"""The process group of sums on GPUs, and which runner a collective has on which device.

On CPUs the own connections have the timeout of a collective. On GPUs NCCL's watchdog has it, one for each group: after
so long without the end of a call it ends the process.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

import torch
import torch.distributed as dist

# backend: its own all-reduce. groups: native_torus.py. messages: p2p_allreduce.py. connections: pipelined_allreduce.py
Runner = Literal["backend", "groups", "messages", "connections"]


def choose_runner(kind: str, *, device_type: str, row_lengths: Sequence[int] = ()) -> Runner:
    """Return what carries out a collective of this kind; `row_lengths`: of a torus.

    NCCL's own collectives on groups are faster than a torus of messages, but need rows of equal length.
    """
    if kind == "native":
        return "backend"
    if device_type != "cuda":
        return "connections"
    return "groups" if kind == "torus" and len(set(row_lengths)) == 1 else "messages"


def backend_of_groups(device_type: str) -> str | None:
    """Return the backend of new groups for sums on this type of device; None: that of the default group.

    A new group of the default's "cpu:gloo,cuda:nccl" would connect all its ranks by gloo too.
    """
    return "nccl" if device_type == "cuda" else None


def make_gpu_group(device: torch.device, *, timeout_s: float) -> dist.ProcessGroup | None:
    """Return a group of all ranks with its own timeout for sums on GPUs, None on CPUs; all ranks call this together.

    Its first call is one of all ranks: NCCL connects the ranks in a group's first call, and a rank without a message in
    the first round of a plan would not take part.
    """
    backend = backend_of_groups(device.type)
    if backend is None:
        return None
    group: dist.ProcessGroup = dist.new_group(timeout=timedelta(seconds=timeout_s), backend=backend)
    dist.all_reduce(torch.zeros(1, device=device), group=group)
    return group
