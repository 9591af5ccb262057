"""The device of a rank: its own GPU if every rank of the node gets one, else a share of the CPU cores."""

import os
import sys

import torch

from trainers.ranks.rank_info import RankInfo


def select_device(rank_info: RankInfo) -> torch.device:
    """Set this process's GPU or number of CPU threads, and return its device."""
    torch.set_num_threads(rank_info.cores or max(1, _count_cores() // rank_info.local_world))
    gpus = torch.cuda.device_count()
    if gpus >= rank_info.local_world:
        torch.cuda.set_device(rank_info.local_rank)
        return torch.device("cuda", rank_info.local_rank)
    if gpus and rank_info.local_rank == 0:
        print(f"{rank_info.local_world} ranks and {gpus} GPUs on {rank_info.host}: training on CPUs", file=sys.stderr)
    return torch.device("cpu")


def device_name(device: torch.device) -> str:
    """Return the name of the GPU, or "cpu"."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _count_cores() -> int:
    """Return the number of cores that this process may use: Slurm or a container may allow fewer than the host has."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
