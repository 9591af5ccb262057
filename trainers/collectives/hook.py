"""The torus all-reduce for any script with PyTorch's DistributedDataParallel.

A script needs two lines:

    from trainers.collectives import hook
    hook.torus(model)

A separate thread sums the gradient buckets while the backward pass continues.
"""

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from trainers.collectives import layout
from trainers.collectives.plans import torus as torus_plan
from trainers.collectives.runners.allreduce import TIMEOUT_S, Allreduce, make_allreduce
from trainers.collectives.runners.async_allreduce import AsyncAllreduce, wait_for_sum
from trainers.collectives.runners.native_torus import native_torus
from trainers.collectives.wire.connections import Connections


def torus(model: DistributedDataParallel, *, wire: torch.dtype | None = None, timeout_s: float = TIMEOUT_S) -> None:
    """Average the model's gradients by a 2D torus of all ranks, one row per host; all ranks call this together.

    `wire`: a 16-bit type for float32 gradients between ranks; ranks add in float32.
    `timeout_s`: if a rank fails, the backward pass raises RankLost after at most so long; on GPUs NCCL ends
    the process.
    """
    connections = Connections()
    world, rows = connections.world, layout.count_rows(connections.rendezvous.hosts)
    if uses_groups(next(model.parameters()).device.type, dist.get_backend_config()):
        grid = layout.grid([range(world)], rows)
        attach(model, native_torus(grid, wire=wire, timeout_s=timeout_s, backend="nccl"))
        return
    plan = torus_plan.plan([range(world)], rows=rows)  # of which a rank makes its own sends alone
    attach(model, make_allreduce(plan, chunks=plan.chunks, connections=connections, wire=wire, timeout_s=timeout_s))


def uses_groups(device_type: str, backend_config: str) -> bool:
    """Return whether the gradients are summed by NCCL's collectives on groups.

    `device_type`: of the model. `backend_config`: of the default group, such as "cpu:gloo,cuda:nccl".
    """
    return device_type == "cuda" and "cuda:nccl" in backend_config.split(",")


def attach(model: DistributedDataParallel, allreduce: Allreduce) -> None:
    """Average the model's gradients by `allreduce`; no other code may use `allreduce` at the same time."""
    world = dist.get_world_size()

    def average(flat_N: Tensor) -> None:
        flat_N.div_(world)  # before the sum, because the sum of n gradients may overflow a 16-bit type
        allreduce(flat_N)

    model.register_comm_hook(AsyncAllreduce(average), _hook)


def _hook(averages: AsyncAllreduce, bucket: GradBucket) -> Future[Tensor]:
    return averages.start(bucket.buffer()).then(wait_for_sum)
