"""How soon a stopped rank of a user's script is named: `make bench NAME=stalls`, ten attempts of two or four ranks.

Each attempt runs an ordinary DDP script through the agent, with a time-out of six seconds. A random rank is stopped by
SIGSTOP at a random moment. Measured are the seconds from there until the agent has ended, and whether the record names
the rank, its line and the collective, with a stack of every rank. The goal is the time-out and ten seconds.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from contract.folder.run_folder import RunFolder
from contract.spec.program.run import ProgramSpec
from scheduler.submit.tools import agent_folder, install_tools

ATTEMPTS, LIMIT_S, GOAL_S = 10, 6.0, 10.0
RESULT = Path(__file__).parent / "results" / "stalls.json"
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


def main() -> None:
    """Measure, print and write the report."""
    rng, rows = random.Random(14), []
    for number in range(ATTEMPTS):
        world = rng.choice([2, 4])
        with tempfile.TemporaryDirectory() as root:
            rows.append(measure(Path(root), world, rng.randrange(world), rng.uniform(0, 3)))
        row = rows[-1]
        print(f"{number}: rank {row['rank']} of {world}: {row['after_limit_s']:.1f} s after the limit; {row['reason']}")
    is_named = [row["is_named"] and row["after_limit_s"] <= GOAL_S for row in rows]
    print(f"{sum(is_named)} of {ATTEMPTS} named within the time-out and {GOAL_S:g} s")
    report = {"limit_s": LIMIT_S, "named": sum(is_named), "attempts": ATTEMPTS, "rows": rows}
    RESULT.write_text(json.dumps(report, indent=1) + "\n")


def measure(root: Path, world: int, rank: int, wait_s: float) -> dict[str, Any]:
    """Stop one rank of an attempt `wait_s` after all ranks have trained some steps; return how it was named."""
    folder, agent = start(root, world)
    try:
        while not all(note(folder, other).get("steps", 0) > 1 for other in range(world)):
            if agent.poll() is not None:
                raise RuntimeError(f"the attempt ended: {folder.log.read_text()}")
            time.sleep(0.05)
        time.sleep(wait_s)
        os.kill(note(folder, rank)["pid"], signal.SIGSTOP)
        stopped_at = time.monotonic()
        agent.wait()
        spent_s = time.monotonic() - stopped_at
    finally:
        agent.kill()
        agent.wait()
    failures = folder.read_rank_failures(1)
    stacks = [(folder.path / "attempts" / f"1.stacks-{other}.txt").read_text() for other in range(world)]
    reason = failures[0].reason if failures else "no record"
    return {
        "world": world,
        "rank": rank,
        "after_limit_s": spent_s - LIMIT_S,
        "reason": reason,
        "is_named": len(failures) == 1
        and failures[0].rank == rank
        and "train.py:" in reason
        and "all_reduce" in reason
        and "train.py" in failures[0].trace
        and all("train.py" in text for text in stacks),
    }


def start(root: Path, world: int) -> tuple[RunFolder, "subprocess.Popen[bytes]"]:
    """Start the agent of an attempt from the tools that the scheduler installs."""
    install_tools(root)
    script = root / "train.py"
    script.write_text(SCRIPT)
    fields = {"resources": {"kind": "local", "ranks_per_node": world}, "stall_minutes": LIMIT_S / 60}
    spec = ProgramSpec.model_validate({"command": [sys.executable, str(script)], **fields})
    folder = RunFolder.of(root, 1, "bench")
    folder.prepare(spec.model_dump(mode="json"), 1)
    words = [sys.executable, str(agent_folder(root)), str(folder.path), "--attempt", "1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with folder.open_log_for_append() as log:
        return folder, subprocess.Popen(words, stdout=log, stderr=log, env=environment, process_group=0)


def note(folder: RunFolder, rank: int) -> dict[str, int]:
    """Return what a rank has noted about its progress; empty before its first note."""
    try:
        found: dict[str, int] = json.loads((folder.path / "attempts" / f"1.progress-{rank}").read_text())
    except FileNotFoundError:
        return {}
    return found


if __name__ == "__main__":
    main()
