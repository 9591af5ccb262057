"""One rank of the benchmark of the eight parts: train with the real engine, and time what comes before the steps."""

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from contract.folder.run_folder import RunFolder
from runfiles.own_address import own_address
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import RankInfo
from trainers.recovery.preemption_signal import PreemptionSignal
from trainers.training import engine

P = ParamSpec("P")
R = TypeVar("R")


def main() -> None:
    """Execute the task in the environment variable TASK."""
    task = json.loads(os.environ["TASK"])
    rank, world, per_host = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), task["ranks_per_host"]
    spent_s: dict[str, float] = {}
    for name in ("build_data", "make_loop"):  # the second calls the first
        setattr(engine, name, timed(spent_s, name, getattr(engine, name)))
    address, host = own_address(), socket.gethostname()
    rank_info = RankInfo(rank, world, rank % per_host, per_host, host=host, address=address, cores=1)
    folder = RunFolder(Path(task["folder"]) / task["runs"][0])
    report = Reporter(folder, 1, rank=rank)
    engine.train(folder, 1, rank_info, report=report, preemption=PreemptionSignal(lambda reason: None))
    if rank == 0:
        data_s, loop_s = spent_s["build_data"], spent_s["make_loop"]
        once = {"data_s": data_s, "initialization_s": loop_s - data_s}
        print(json.dumps(once), flush=True)


def timed(spent_s: dict[str, float], name: str, function: Callable[P, R]) -> Callable[P, R]:
    """Return `function`, whose calls add their seconds to `spent_s[name]`."""

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent_s[name] = spent_s.get(name, 0.0) + time.perf_counter() - started

    return call
