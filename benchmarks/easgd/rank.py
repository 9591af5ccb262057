"""One rank of the EASGD benchmark: execute the run folders in order with the real engine."""

import gc
import json
import os
import socket
import sys
import time
from pathlib import Path

from contract.folder.run_folder import RunFolder
from runfiles.own_address import own_address
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import RankInfo
from trainers.recovery.preemption_signal import PreemptionSignal
from trainers.training import engine


def main() -> None:
    """Execute the task in the environment variable TASK."""
    task = json.loads(os.environ["TASK"])
    rank, world, per_host = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), task["ranks_per_host"]
    address = own_address()
    rank_info = RankInfo(rank, world, rank % per_host, per_host, host=socket.gethostname(), address=address, cores=1)
    for name in task["runs"]:
        began_s = time.perf_counter()
        folder = RunFolder(Path(task["folder"]) / name)
        report = Reporter(folder, 1, rank=rank)
        engine.train(folder, 1, rank_info, report=report, preemption=PreemptionSignal(lambda reason: None))
        gc.collect()  # closes the run's connections
        if rank == 0:
            print(f"  {name}: {time.perf_counter() - began_s:.1f} s", file=sys.stderr, flush=True)
    if rank == 0:
        print("null", flush=True)
