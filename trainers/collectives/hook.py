"""The torus for any script with PyTorch's DistributedDataParallel, in two lines:

    from trainers.collectives import hook
    hook.torus(model)

Gradients are summed bucket by bucket in a thread of their own while backward goes on.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from trainers.collectives import layout
from trainers.collectives import torus as torus_plan
from trainers.collectives.native_torus import native_torus
from trainers.collectives.runner import TIMEOUT_S, Allreduce, follow
from trainers.collectives.wire.mesh import Mesh


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
    model.register_comm_hook(_Worker(allreduce, dist.get_world_size()), _hook)


Job = tuple[Tensor, Future[Tensor | Exception]]


class _Worker:
    """A thread that sums one bucket after the other, in the order in which backward fills them."""

    def __init__(self, allreduce: Allreduce, world: int) -> None:
        self._allreduce, self._world = allreduce, world
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        Thread(target=self._work, name="allreduce", daemon=True).start()

    def average(self, flat_N: Tensor) -> Future[Tensor]:
        if flat_N.device.type == "cuda":
            return _on_a_stream(flat_N, self._sum)
        future: Future[Tensor | Exception] = Future()
        self._jobs.put((flat_N, future))
        return future.then(_unwrapped)

    def _sum(self, flat_N: Tensor) -> None:
        flat_N.div_(self._world)  # before the sum: a sum of n gradients may leave a 16-bit type's range
        self._allreduce(flat_N)

    def _work(self) -> None:
        while True:
            flat_N, future = self._jobs.get()
            try:
                self._sum(flat_N)
            except Exception as error:
                future.set_result(error)
            else:
                future.set_result(flat_N)


def _unwrapped(future: Future[Tensor | Exception]) -> Tensor:
    # an exception that is set on a future reaches backward as "unable to cast to Tensor", one that is raised as it is
    result = future.value()
    if isinstance(result, Exception):
        raise result
    return result


def _hook(worker: _Worker, bucket: GradBucket) -> Future[Tensor]:
    return worker.average(bucket.buffer())


def _on_a_stream(flat_N: Tensor, work: Callable[[Tensor], None]) -> Future[Tensor]:
    """Queue the work on a stream beside backward's own."""
    stream = torch.cuda.Stream(flat_N.device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(flat_N.device))
    future: Future[Tensor] = Future(devices=[flat_N.device])
    with torch.cuda.stream(stream):
        work(flat_N)
        future.set_result(flat_N)  # who waits for it, waits for the stream
    return future
