"""The torus for any script with PyTorch's DistributedDataParallel, in two lines:

    from trainers.collectives import hook
    hook.torus(model)

Gradients are summed bucket by bucket in a thread of their own while backward goes on.
"""

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from trainers.collectives import layout
from trainers.collectives.plans import torus as torus_plan
from trainers.collectives.runners.allreduce import TIMEOUT_S, Allreduce, follow
from trainers.collectives.runners.async_allreduce import Beside, summed
from trainers.collectives.runners.native_torus import native_torus
from trainers.collectives.wire.connections import Mesh


def torus(model: DistributedDataParallel, *, wire: torch.dtype | None = None, timeout_s: float = TIMEOUT_S) -> None:
    """Average the model's gradients by a 2D torus of all ranks, a row per host; every rank calls this together.

    `wire`: a 16-bit type in which float32 gradients travel between ranks; they are summed in float32.
    `timeout_s`: when a rank is lost, backward raises RankLost after at most so long.
    """
    mesh = Mesh()
    world, rows = mesh.world, layout.rows(mesh.meeting.hosts)
    if dist.get_backend() == "nccl":
        attach(model, native_torus(rows=rows))
        return
    plan = torus_plan.allreduce(range(world), range(world), rows=rows)
    attach(model, follow(plan, chunks=world, mesh=mesh, wire=wire, timeout_s=timeout_s))


def attach(model: DistributedDataParallel, allreduce: Allreduce) -> None:
    """Average the model's gradients by `allreduce`, which nobody else may use at the same time."""
    world = dist.get_world_size()

    def average(flat_N: Tensor) -> None:
        flat_N.div_(world)  # before the sum: a sum of n gradients may leave a 16-bit type's range
        allreduce(flat_N)

    model.register_comm_hook(Beside(average), _hook)


def _hook(averages: Beside, bucket: GradBucket) -> Future[Tensor]:
    return averages.begin(bucket.buffer()).then(summed)
