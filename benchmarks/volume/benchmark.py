"""Workers on the chunks of one volume: how the time falls with their number.

    TMPDIR=/a/folder/on/disk python -m benchmarks.volume [unet] [device] [--repeats 3] [--side 96]

Without a net, both are measured; each replaces its rows of this side in benchmarks/results/volume.json.

Two nets, because a machine has few cores:

- `unet`: a 3-D U-Net on the cores. Beyond the number of cores the time cannot fall; the processor time of all workers
  together, against that of one, says what sharing costs.
- `device`: a net that waits 20 ms per patch, as a worker waits for its own accelerator. What is missing to linear is
  the price of leases, of reading and of syncing blocks, and the end, at which workers have nothing left. `busy_cores`
  says how many cores all workers together keep busy: linear is out of reach where it comes near those of the machine.

Each repeat measures all numbers of workers one after another, and the ratios are of one repeat; the report has the
medians, and the load of the machine before and after.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import torch

from contract.spec.volume.volume import Volume
from trainers.models.unet3d import UNet3D
from trainers.volume.blend import Floats, Net
from trainers.volume.synthetic import write_bodies
from trainers.volume.task_folder import TaskFolder, Worker
from trainers.volume.work.net import LoadedNet
from trainers.volume.work.plan import Plan, make_plan
from trainers.volume.work.worker import Workbench

REPORT = Path(__file__).parents[1] / "results" / "volume.json"
SIDE, CHUNK, PATCH, OVERLAP = 96, [16, 16, 16], [16, 16, 16], [4, 4, 4]
PATCH_S = 0.02
WORKERS = {"unet": (1, 2), "device": (1, 2, 4, 8)}
SPEC = Volume.model_validate(
    {
        "chunk": CHUNK,
        "operators": [
            {"kind": "read", "path": "em"},
            {"kind": "infer", "patch": PATCH, "overlap": OVERLAP},
            {"kind": "write", "path": "values"},
            {"kind": "threshold", "at": 0.5},
            {"kind": "components"},
            {"kind": "write", "path": "labels"},
        ],
    }
)


def main() -> None:
    """Measure both nets and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", choices=[*WORKERS, []], default=[])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--side", type=int, default=SIDE, help=f"voxels, a multiple of {CHUNK[0]}")
    options = parser.parse_args()
    report: dict[str, Any] = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    report |= {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
        "volume": {"patch_s": PATCH_S, **SPEC.model_dump(mode="json")},
    }
    for name in options.nets or WORKERS:
        before = os.getloadavg()[0]
        rows = measure(name, WORKERS[name], repeats=options.repeats, side=options.side)
        key = name if options.side == SIDE else f"{name}, side {options.side}"
        load = [round(before, 2), round(os.getloadavg()[0], 2)]
        report[key] = {"shape": [options.side] * 3, "load": load, "rows": rows}
        REPORT.write_text(json.dumps(report, indent=1) + "\n")


def measure(name: str, workers: Sequence[int], *, repeats: int, side: int) -> list[dict[str, Any]]:
    """Return a row for each number of workers: medians over the repeats."""
    repeated = [[carry_out(name, number, side) for number in workers] for _ in range(repeats)]
    rows = []
    for place, number in enumerate(workers):
        pairs = [(rows_of[0], rows_of[place]) for rows_of in repeated]
        speedup = statistics.median(one["seconds"] / several["seconds"] for one, several in pairs)
        rows.append(
            {
                "workers": number,
                "seconds": [round(several["seconds"], 2) for _, several in pairs],
                "speedup": round(speedup, 3),
                "of_linear": round(speedup / number, 3),
                "processor_time": round(statistics.median(b["processor_s"] / a["processor_s"] for a, b in pairs), 3),
                "busy_cores": round(statistics.median(b["processor_s"] / b["seconds"] for _, b in pairs), 2),
                "waited_share": round(statistics.median(b["waited_s"] / (number * b["seconds"]) for _, b in pairs), 4),
            }
        )
        print(name, rows[-1], flush=True)
    return rows


def carry_out(name: str, workers: int, side: int) -> dict[str, float]:
    """Let `workers` processes carry out all tasks of a new cube of `side` voxels.

    Return seconds, processor time and waits.
    """
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        write_bodies(Path(folder), (side, side, side), block=CHUNK[0], seed=1)
        start, results = context.Barrier(workers + 1), context.SimpleQueue()
        processes = [
            context.Process(target=_work, args=(Path(folder), name, rank, workers, start, results))
            for rank in range(workers)
        ]
        for process in processes:
            process.start()
        start.wait()
        began = time.monotonic()
        found = [results.get() for _ in processes]
        seconds = time.monotonic() - began
        for process in processes:
            process.join()
        count = sum(one["tasks"] for one in found)
        assert count == 2 * (side // CHUNK[0]) ** 3 + 1, count
    return {
        "seconds": seconds,
        "processor_s": sum(one["processor_s"] for one in found),
        "waited_s": sum(one["waited_s"] for one in found),
    }


def _work(folder: Path, name: str, rank: int, workers: int, start: Barrier, results: Any) -> None:
    waited = 0.0

    def sleep(seconds: float) -> None:
        nonlocal waited
        waited += seconds
        time.sleep(seconds)

    plan = replace(make_plan(SPEC, folder), net=LoadedNet(_net(name), 1))
    tasks = CountingFolder(plan, Worker("run", 1, rank, workers), sleep)
    bench = Workbench(plan, tasks)
    start.wait()
    before = time.process_time()
    bench.work()
    results.put({"processor_s": time.process_time() - before, "waited_s": waited, "tasks": tasks.finished})


class CountingFolder(TaskFolder):
    """A folder of tasks that counts those that this worker finished."""

    def __init__(self, plan: Plan, worker: Worker, sleep: Any) -> None:
        super().__init__(plan.work / "tasks", worker, lease_s=plan.spec.lease_s, sleep=sleep)
        self.finished = 0

    def finish(self, lease: Any, seconds: float) -> bool:
        """Count a task."""
        is_first = super().finish(lease, seconds)
        self.finished += is_first
        return is_first


def _net(name: str) -> Net:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = UNet3D(1, 1, width=8, levels=2).eval()

    def compute(x_CZYX: Floats) -> Floats:
        with torch.inference_mode():
            made: Floats = module(torch.from_numpy(np.array(x_CZYX))[None])[0].numpy()
        return made

    def wait(x_CZYX: Floats) -> Floats:
        time.sleep(PATCH_S)
        return x_CZYX

    return compute if name == "unet" else wait
