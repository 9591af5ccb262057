"""What a rank computes on: a GPU of its own where every rank of the node gets one, else a share of the cores."""

import os
import sys

import torch

from trainers.ranks.rank_info import Place


def take(place: Place) -> torch.device:
    """Settle this process on its device."""
    torch.set_num_threads(place.cores or max(1, _cores() // place.local_world))
    gpus = torch.cuda.device_count()
    if gpus >= place.local_world:
        torch.cuda.set_device(place.local_rank)
        return torch.device("cuda", place.local_rank)
    if gpus and place.local_rank == 0:
        print(f"{place.local_world} ranks and {gpus} GPUs on {place.host}: training on CPUs", file=sys.stderr)
    return torch.device("cpu")


def name(device: torch.device) -> str:
    """What the device is called in a report."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _cores() -> int:
    """Cores that this process may use, which under Slurm or in a container may be fewer than there are."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
