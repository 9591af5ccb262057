"""One rank of a check: join the group, run the check, and let rank 0 print its figures or its error."""

import json
import os
import traceback
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]

from benchmarks.gpu import kernels, steps, sums
from benchmarks.gpu.place import Figures, Place
from contract.spec.run import Device
from trainers.ranks import device as devices
from trainers.ranks.rank_info import local_rank_info

CHECKS: dict[str, Callable[[Place], Figures]] = {
    "torus_on_groups": sums.check_torus_on_groups,
    "plans_by_messages": sums.check_plans_by_messages,
    "overlap": sums.check_overlap,
    "hook": sums.check_hook,
    "group_norm": kernels.check_group_norm,
    "tf32": kernels.check_tf32,
    "lstm_weights": kernels.check_lstm_weights,
    "waits": steps.check_waits,
    "layouts": steps.check_layouts,
    "precision": steps.check_precision,
    "rules": steps.check_rules,
    "launches": steps.check_launches,
    "compile": steps.check_compile,
}


REQUEST = "make gpu"  # what requests the GPUs, for the message where there are none


def be_a_host(rank: int) -> None:
    """Let NCCL take this rank for a host of its own: it refuses two ranks of one host on one GPU."""
    os.environ |= {"NCCL_HOSTID": f"rank-{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}


def main() -> None:
    """Run the check in the environment variable TASK."""
    task = json.loads(os.environ["TASK"])
    rank_info = local_rank_info(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    try:
        chosen: Device = "cpu" if task["cpu"] else "gpu"
        device = devices.select_device(rank_info, None if task["cpu"] else REQUEST, device=chosen)
        if task["cpu"]:
            torch.set_num_threads(1)
        store = FileStore(os.environ["STORE"], rank_info.world)
        if task["shared"]:
            be_a_host(rank_info.rank)
        else:
            devices.agree_on_device(store, rank_info, device)
        backend = devices.group_backend(device)
        dist.init_process_group(backend, store=store, rank=rank_info.rank, world_size=rank_info.world)
        figures = CHECKS[task["check"]](Place(device))
        dist.barrier()
        answer = {"ok": True, "device": devices.device_name(device), "figures": figures}
    except Exception as error:
        traceback.print_exc()
        answer = {"ok": False, "error": f"rank {rank_info.rank}: {type(error).__name__}: {error}"}
    if rank_info.rank == 0:
        print(json.dumps(answer), flush=True)
