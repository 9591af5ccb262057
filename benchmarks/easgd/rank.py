"""One rank of the EASGD benchmark: carries out one run folder after the other by the real engine."""

import gc
import json
import os
import socket
import sys
import time
from pathlib import Path

from contract.folder.run_folder import RunFolder
from trainers.collectives.wire.address import own_address
from trainers.progress.reporter import Report
from trainers.ranks.rank_info import Place
from trainers.recovery.preemption_signal import Notice
from trainers.training import engine


def main() -> None:
    """Carry out the task that the environment holds."""
    task = json.loads(os.environ["TASK"])
    rank, world, per_host = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), task["ranks_per_host"]
    address = own_address()
    place = Place(rank, world, rank % per_host, per_host, host=socket.gethostname(), address=address, cores=1)
    for name in task["runs"]:
        began_s = time.perf_counter()
        folder = RunFolder(Path(task["folder"]) / name)
        engine.train(folder, 1, place, report=Report(folder, 1, rank=rank), notice=Notice(lambda reason: None))
        gc.collect()  # the run's connections
        if rank == 0:
            print(f"  {name}: {time.perf_counter() - began_s:.1f} s", file=sys.stderr, flush=True)
    if rank == 0:
        print("null", flush=True)


if __name__ == "__main__":
    main()
