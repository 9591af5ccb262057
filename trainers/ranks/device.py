"""The device of a rank: its own GPU, or a share of the CPU cores.

A rank decides by what it sees: all GPUs of its node, or, if Slurm binds GPUs to tasks, its own only. Whether two ranks
chose one GPU, or ranks chose different kinds of device, shows at their meeting (agree_on_device).
"""

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.distributed import Store  # type: ignore[attr-defined]  # not in torch's __all__

from contract.spec.resources import Local, Slurm
from contract.spec.run import Device
from trainers.ranks.rank_info import RankInfo

GPU_GRES = re.compile(r"(^|,)(gres[:/])?gpu\b", re.I)
DEVICE_KEY, CONFLICT_KEY = "device", "device/conflict"  # in the store of the ranks


class DeviceError(RuntimeError):
    """A rank has no device of the requested kind, or the ranks' devices do not fit together."""


@dataclass(frozen=True)
class RankDevice:
    """What a rank tells other ranks about its device. `uuid` is "" for a CPU."""

    rank: int
    host: str
    kind: str
    uuid: str = ""


def requested_gpus(resources: Local | Slurm, device: Device | None = None) -> str | None:
    """Return the part of a spec that requests GPUs, None if none does."""
    if device is not None:
        return "device: gpu" if device == "gpu" else None
    if resources.gpus_per_rank:
        return f"gpus_per_rank: {resources.gpus_per_rank}"
    if isinstance(resources, Slurm):
        if resources.gres and GPU_GRES.search(resources.gres):
            return f"gres: {resources.gres}"
        per_task = resources.options.get("tres-per-task")
        if isinstance(per_task, str) and GPU_GRES.search(per_task):
            return f"options.tres-per-task: {per_task}"
    return None


def choose_gpu(visible: int, *, requested: str | None, rank_info: RankInfo) -> int | None:
    """Return the index of a rank's GPU among the `visible` ones, None for the CPUs.

    With at least one GPU for every rank of the node, rank i of the node takes GPU i. With fewer, Slurm has bound GPUs
    to each task, so a rank takes the first that it sees. Raise DeviceError if the spec requests GPUs and the rank sees
    none. Without a request, ranks that outnumber the GPUs train on CPUs.
    """
    if visible >= rank_info.local_world:
        return rank_info.local_rank
    if requested is None:
        return None
    if visible:
        return 0
    raise DeviceError(
        f"the spec requests GPUs ({requested}), but rank {rank_info.rank} on {rank_info.host} sees none "
        f"(CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', 'not set')}, PyTorch {torch.__version__}): "
        "check the GPU's driver and that PyTorch was built for it, or set `device: cpu` to train on CPUs"
    )


def select_device(rank_info: RankInfo, requested: str | None = None, *, device: Device | None = None) -> torch.device:
    """Set this process's GPU or number of CPU threads, and return its device; `device` is the spec's choice."""
    torch.set_num_threads(rank_info.cores or max(1, _count_cores() // rank_info.local_world))
    if device == "cpu":
        return torch.device("cpu")
    visible = torch.cuda.device_count()
    index = choose_gpu(visible, requested=requested, rank_info=rank_info)
    if index is not None:
        torch.cuda.set_device(index)
        return torch.device("cuda", index)
    if visible and rank_info.local_rank == 0:
        print(
            f"{rank_info.local_world} ranks and {visible} GPUs on {rank_info.host}, and the spec requests no GPU: "
            "training on CPUs",
            file=sys.stderr,
        )
    return torch.device("cpu")


def find_conflict(devices: Sequence[RankDevice]) -> str | None:
    """Return why the ranks cannot train together on these devices, None if they can."""
    for kind in sorted({device.kind for device in devices} - {devices[0].kind}):
        other = next(device for device in devices if device.kind == kind)
        return (
            f"rank {devices[0].rank} on {devices[0].host} trains on {devices[0].kind}, "
            f"rank {other.rank} on {other.host} on {kind}: all ranks need the same kind of device"
        )
    owners: dict[tuple[str, str], RankDevice] = {}
    for device in devices:
        owner = owners.setdefault((device.host, device.uuid), device)
        if device.uuid and owner is not device:
            return (
                f"ranks {owner.rank} and {device.rank} on {device.host} have the same GPU ({device.uuid}): "
                "request one GPU per rank (gpus_per_rank: 1), or start fewer ranks"
            )
    return None


def agree_on_device(store: Store, rank_info: RankInfo, device: torch.device) -> None:
    """Check at the meeting that the ranks' devices fit together; raise the same DeviceError on every rank if not.

    Rank 0 reads what every rank tells; every other rank waits for one key.
    """
    own = RankDevice(rank_info.rank, rank_info.host, device.type, _uuid(device))
    if rank_info.rank:
        store.set(f"{DEVICE_KEY}/{own.rank}", json.dumps([own.host, own.kind, own.uuid]))
        conflict = store.get(CONFLICT_KEY).decode()
    else:
        others = [
            RankDevice(rank, *json.loads(store.get(f"{DEVICE_KEY}/{rank}"))) for rank in range(1, rank_info.world)
        ]
        conflict = find_conflict([own, *others]) or ""
        store.set(CONFLICT_KEY, conflict)
    if conflict:
        raise DeviceError(conflict)


def group_backend(device: torch.device) -> str:
    """Return the backend of the ranks' process group: gloo also next to NCCL, for what is in the host's memory."""
    return "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"


def device_name(device: torch.device) -> str:
    """Return the name of the GPU, or "cpu"."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _uuid(device: torch.device) -> str:
    return str(torch.cuda.get_device_properties(device).uuid) if device.type == "cuda" else ""


def _count_cores() -> int:
    """Return the number of cores that this process may use: Slurm or a container may allow fewer than the host has."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
