"""Exchange small JSON values between ranks: torch's object collectives unpickle what arrives, which runs its code."""

import json
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

LIMIT_BYTES = 1 << 20  # of one rank's value


def gather_json(own: Any, group: dist.ProcessGroup | None = None) -> list[Any]:
    """Return the values of all ranks, in their order, on every rank; all ranks of the group call this together.

    Raise ValueError if a value is larger than LIMIT_BYTES or what arrives is not JSON.
    """
    encoded_B, world = _encode(own, group), dist.get_world_size(group)
    lengths = [torch.zeros(1, dtype=torch.int64, device=encoded_B.device) for _ in range(world)]
    dist.all_gather(lengths, torch.tensor([len(encoded_B)], device=encoded_B.device), group=group)
    sizes = [_checked(length) for length in lengths]
    padded_B = encoded_B.new_zeros(max(sizes))
    padded_B[: len(encoded_B)] = encoded_B
    received = [torch.empty_like(padded_B) for _ in range(world)]
    dist.all_gather(received, padded_B, group=group)
    return [_decode(of_rank_B[:size]) for of_rank_B, size in zip(received, sizes, strict=True)]


def broadcast_json(value: Any, group: dist.ProcessGroup | None = None) -> Any:
    """Return rank 0's value on every rank; all ranks of the group call this together.

    Raise ValueError if the value is larger than LIMIT_BYTES or what arrives is not JSON.
    """
    is_first = dist.get_rank(group) == 0
    encoded_B = _encode(value if is_first else None, group)
    length = torch.tensor([len(encoded_B)], device=encoded_B.device)
    dist.broadcast(length, group=group, group_src=0)
    if not is_first:
        encoded_B = encoded_B.new_empty(_checked(length))
    dist.broadcast(encoded_B, group=group, group_src=0)
    return _decode(encoded_B)


def _encode(value: Any, group: dist.ProcessGroup | None) -> Tensor:
    text = bytearray(json.dumps(value).encode())
    if len(text) > LIMIT_BYTES:
        raise ValueError(f"a value of {len(text)} bytes for other ranks exceeds the limit of {LIMIT_BYTES} bytes")
    # a group without a backend for CPU tensors is NCCL's
    device = "cpu" if "cpu:" in dist.get_backend_config(group) else "cuda"
    return torch.frombuffer(text, dtype=torch.uint8).to(device)


def _checked(length: Tensor) -> int:
    if not 0 < (nbytes := int(length.item())) <= LIMIT_BYTES:
        raise ValueError(f"a rank announces a value of {nbytes} bytes; the limit is {LIMIT_BYTES} bytes")
    return nbytes


def _decode(encoded_B: Tensor) -> Any:
    try:
        return json.loads(encoded_B.cpu().numpy().tobytes())
    except ValueError as error:
        raise ValueError(f"a rank sent {len(encoded_B)} bytes that are not JSON: {error}") from error
