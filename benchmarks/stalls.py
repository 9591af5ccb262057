"""How soon a stopped rank of a user's script is named: `make bench NAME=stalls`, ten attempts of two or four ranks.

`python -m benchmarks.stalls --lab` does the same in ten jobs of the lab's Slurm, of 2 hosts x 2 ranks, by srun and by
torchrun in turn. Each attempt runs an ordinary DDP script through the agent, with a time-out of six seconds. A random
rank is stopped by SIGSTOP at a random moment. Measured are the seconds from there until the agent has reported the
failure, and whether the record names the rank, its line and the collective, with a stack of every rank. The goal is the
time-out and ten seconds.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from contract.folder.run_folder import RunFolder
from contract.spec.program.run import ProgramSpec
from scheduler.clusters.cluster import Alive, JobHandle, JobRequest
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.submit.tools import agent_folder, install_tools

ATTEMPTS, LIMIT_S, GOAL_S = 10, 6.0, 10.0
PATIENCE_S = 600.0  # until all ranks train, and until the stopped rank is named
RESULTS = Path(__file__).parent / "results"
SCRIPT = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

def main():
    dist.init_process_group("gloo")
    layers = [torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = TensorDataset(torch.randn(6400, 256), torch.randint(0, 10, (6400,)))
    while True:
        for x, y in DataLoader(data, batch_size=64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

main()
"""


class Case(NamedTuple):
    """One attempt, and the rank that is stopped."""

    launcher: str
    nodes: int  # of the lab; 0: this machine without Slurm
    ranks_per_node: int
    rank: int
    wait_s: float  # between the first steps of all ranks and SIGSTOP

    @property
    def world(self) -> int:
        return max(1, self.nodes) * self.ranks_per_node


def main() -> None:
    """Measure, print and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lab", action="store_true", help="run each attempt as a job of the lab, on two hosts")
    asked = parser.parse_args()
    rng, rows = random.Random(14), []
    for number in range(ATTEMPTS):
        case = choose_case(rng, number, is_lab=asked.lab)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
            rows.append(measure(Path(root), case))
        row, shape = rows[-1], f"{case.world} by {case.launcher}"
        late = f"{row['after_limit_s']:.1f} s after the limit"
        print(f"{number}: rank {row['rank']} of {shape}: {late}; {row['reason']}", flush=True)
        if row["missing"]:
            print(f"   missing: {', '.join(row['missing'])}", flush=True)
    is_named = [not row["missing"] and row["after_limit_s"] <= GOAL_S for row in rows]
    print(f"{sum(is_named)} of {ATTEMPTS} named within the time-out and {GOAL_S:g} s")
    load = round(os.getloadavg()[1], 1)
    report = {"limit_s": LIMIT_S, "load": load, "named": sum(is_named), "attempts": ATTEMPTS, "rows": rows}
    (RESULTS / ("stalls_lab.json" if asked.lab else "stalls.json")).write_text(json.dumps(report, indent=1) + "\n")


def choose_case(rng: random.Random, number: int, *, is_lab: bool) -> Case:
    """Return a case of this machine, or of two hosts of the lab."""
    if is_lab:
        return Case(("srun", "torchrun")[number % 2], 2, 2, rng.randrange(4), rng.uniform(0, 3))
    world = rng.choice([2, 4])
    return Case("srun", 0, world, rng.randrange(world), rng.uniform(0, 3))


def measure(root: Path, case: Case) -> dict[str, Any]:
    """Stop one rank after all ranks have trained some steps; return how it was named."""
    folder = prepare(root, case)
    with lab_job(folder, case) if case.nodes else local_agent(root, folder):
        await_steps(folder, case.world)
        time.sleep(case.wait_s)
        os.kill(note(folder, case.rank)["pid"], signal.SIGSTOP)
        stopped_at = time.monotonic()
        while not has_reported(folder):
            if time.monotonic() - stopped_at > PATIENCE_S:
                raise RuntimeError(f"the stopped rank was not found: {folder.log.read_text()}")
            time.sleep(0.02)
        spent_s = time.monotonic() - stopped_at
    missing = list(what_is_missing(folder, case))
    failures = folder.read_rank_failures(1)
    return {
        "world": case.world,
        "launcher": case.launcher,
        "hosts": max(1, case.nodes),
        "rank": case.rank,
        "after_limit_s": spent_s - LIMIT_S,
        "reason": failures[0].reason if failures else "no record",
        "missing": missing,
    }


def what_is_missing(folder: RunFolder, case: Case) -> Iterator[str]:
    """Yield what the records and stacks of an attempt should have and do not have."""
    failures = [failure for failure in folder.read_rank_failures(1) if not failure.echo]
    if [failure.rank for failure in failures] != [case.rank]:
        yield f"one record: {[failure.reason for failure in failures]}"
    first = failures[0] if failures else None
    for text in ("train.py:", "all_reduce"):
        if first is None or text not in first.reason:
            yield f"{text} in the reason"
    if first is None or "train.py" not in first.trace:
        yield "the stack in the record"
    for rank in range(case.world):
        path = folder.path / "attempts" / f"1.stacks-{rank}.txt"
        if not path.exists() or "train.py" not in path.read_text():
            yield f"the stack of rank {rank}"


def prepare(root: Path, case: Case) -> RunFolder:
    """Write the folder of the attempt, beside the tools that the scheduler installs."""
    install_tools(root)
    script = root / "train.py"
    script.write_text(SCRIPT)
    slurm = {"kind": "slurm", "partition": "gpu", "nodes": case.nodes, "minutes": 10}
    resources = {**(slurm if case.nodes else {"kind": "local"}), "ranks_per_node": case.ranks_per_node}
    fields = {"launcher": case.launcher, "resources": resources, "stall_minutes": LIMIT_S / 60}
    fields["environment"] = {"venv": str(Path(sys.executable).parents[1]), "variables": {"OMP_NUM_THREADS": "1"}}
    spec = ProgramSpec.model_validate({"command": ["python", str(script)], **fields})
    folder = RunFolder.of(root, 1, "bench")
    folder.prepare(spec.model_dump(mode="json"), 1)
    return folder


@contextmanager
def local_agent(root: Path, folder: RunFolder) -> Iterator[None]:
    """Run the agent on this machine."""
    words = [sys.executable, str(agent_folder(root)), str(folder.path), "--attempt", "1"]
    with folder.open_log_for_append() as log:
        agent = subprocess.Popen(words, stdout=log, stderr=log, process_group=0)
    try:
        yield
        agent.wait()
    finally:
        agent.kill()
        agent.wait()


@contextmanager
def lab_job(folder: RunFolder, case: Case) -> Iterator[None]:
    """Submit the agents as the scheduler does."""
    cluster, spec = Slurm(), ProgramSpec.model_validate_json((folder.path / "spec.json").read_text())
    name = f"bigbatch-{folder.path.name}-1"
    job = JobHandle(cluster.submit(JobRequest(name, folder, 1, spec)), name)
    try:
        yield
    finally:
        cluster.cancel([job], force=True)
        until = time.monotonic() + PATIENCE_S
        while isinstance(cluster.status([job]).get(job), Alive) and time.monotonic() < until:
            time.sleep(1)  # the job's processes write into the folder until they end


def await_steps(folder: RunFolder, world: int) -> None:
    """Wait until every rank has trained some steps."""
    until = time.monotonic() + PATIENCE_S
    while not all(note(folder, rank).get("steps", 0) > 1 for rank in range(world)):
        if has_reported(folder) or time.monotonic() > until:
            raise RuntimeError(f"the ranks do not train: {folder.log.read_text()}")
        time.sleep(0.05)


def has_reported(folder: RunFolder) -> bool:
    """Return whether the agent of rank 0 has reported a failure."""
    return folder.events.exists() and b'"failed"' in folder.events.read_bytes()


def note(folder: RunFolder, rank: int) -> dict[str, int]:
    """Return what a rank has noted about its progress; empty before its first note."""
    try:
        found: dict[str, int] = json.loads((folder.path / "attempts" / f"1.progress-{rank}").read_text())
    except FileNotFoundError:
        return {}
    return found


if __name__ == "__main__":
    main()
