"""One rank of the measurement: the links of its group, then all runs of the task, each with the whole engine."""

import atexit
import json
import os
import socket
import statistics
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from benchmarks.headline.cpu_quota import CpuQuota
from benchmarks.rank_group import group_of
from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.metric_names import TIME_PARTS
from contract.spec.run import RunSpec
from runfiles.own_address import own_address
from trainers.collectives.pricing import links
from trainers.collectives.wire.group_connections import connections_of
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import RankInfo, local_rank_info
from trainers.recovery.preemption_signal import PreemptionSignal
from trainers.training import engine

WARM_UP = 4  # steps that are left out of the figures


def main() -> None:
    """Measure; rank 0 prints the network and the time parts of every run."""
    torch.set_num_threads(1)
    task = json.loads(os.environ["TASK"])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    home = Path(os.environ["STORE"]).parent
    if task["share"]:
        quota = CpuQuota(f"planner-{os.getpid()}", task["share"])
        quota.join()
        atexit.register(quota.leave)
    network = _measure_links(task["hosts"], rank, home) if world > 1 else None
    found: dict[str, Any] = {"network": network, "runs": []}
    stdout = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # suppress the engine's line per epoch
    for number, run in enumerate(task["runs"]):
        folder = RunFolder(home / str(number))
        if rank == 0:
            folder.prepare(RunSpec.model_validate(run))
        _wait_for_all(home, number, rank, world)
        report = Reporter(folder, 1, rank=rank)
        engine.train(
            folder,
            1,
            _rank_info(task["hosts"], rank, world),
            report=report,
            preemption=PreemptionSignal(lambda reason: None),
        )
        if rank == 0:
            found["runs"].append(read_parts(folder))
    os.dup2(stdout, 1)
    if rank == 0:
        print(json.dumps(found), flush=True)


def _rank_info(hosts: list[list[int]], rank: int, world: int) -> RankInfo:
    if len(hosts) == 1:
        return local_rank_info(rank, world)
    return RankInfo(rank, world, 0, 1, host=socket.gethostname(), address=own_address(), cores=1)


def _measure_links(hosts: list[list[int]], rank: int, home: Path) -> dict[str, Any]:
    """Return the parameters of the network among these ranks, as `auto` measures them."""
    with group_of(home / "links", rank, sum(map(len, hosts))):
        network = links.measure(connections_of(None)).network(hosts)
        dist.barrier()
    names = ("rate", "inside_rate", "latency_s", "inside_latency_s", "add_rate", "message_s", "copy_rate", "cores")
    return {name: min(getattr(network, name), 1e18) for name in names}  # JSON has no infinity


def _wait_for_all(home: Path, number: int, rank: int, world: int) -> None:
    """Return when all ranks are before the run: the folder of the run is whole, and no rank is in the run before it."""
    with group_of(home / f"before-{number}", rank, world):
        dist.barrier()


def read_parts(folder: RunFolder) -> dict[str, float]:
    """Return the time parts of a run's step: medians, or means where the exchange is not in every step."""
    events = [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    rows = [event.values for event in events if isinstance(event, Points) and TIME_PARTS[0] in event.values]
    rows = rows[WARM_UP:]
    period = getattr(folder.read_spec().rule, "period", 1)
    take = statistics.median if period == 1 else statistics.fmean
    parts = {name: take([row.get(name) or 0.0 for row in rows]) for name in TIME_PARTS}
    step_s = take([sum(row.get(name) or 0.0 for name in TIME_PARTS) for row in rows])
    return {**parts, "step_s": step_s, "steps": len(rows)}
