"""Send rank 0's bytes to all ranks: one rank reads a large file, and a shared disk is not read by thousands."""

import io
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.json_exchange import broadcast_json

PART_BYTES = 1 << 28  # of one message: counts in some backends are 32-bit numbers


class SourceFailed(Exception):
    """Rank 0 has no bytes to send; the message, which is the same on all ranks, says why."""


def broadcast_bytes(read: Callable[[], io.BytesIO]) -> io.BytesIO:
    """Return on every rank what `read` returns on rank 0; all ranks call this together. Nothing is copied in memory.

    Raise SourceFailed on all ranks if `read` raises it.
    """
    content, problem = io.BytesIO(), None
    if dist.get_rank() == 0:
        try:
            content = read()
        except SourceFailed as failure:
            problem = str(failure)
    problem, size = broadcast_json([problem, content.getbuffer().nbytes])
    if problem is not None:
        raise SourceFailed(problem)
    if dist.get_rank():
        content = io.BytesIO(bytes(size))
    if size:
        for part_b in torch.split(torch.frombuffer(content.getbuffer(), dtype=torch.uint8), PART_BYTES):
            _broadcast(part_b)
    content.seek(0)
    return content


def _broadcast(part_b: Tensor) -> None:
    if "cpu:" in dist.get_backend_config():
        dist.broadcast(part_b, src=0)
        return
    moved_b = part_b.cuda()  # a group without a backend for CPU tensors is NCCL's
    dist.broadcast(moved_b, src=0)
    part_b.copy_(moved_b)
