"""Run every path for GPUs on the GPUs of this machine: `make gpu`, at most ten minutes on one to eight GPUs.

Each check is a set of processes of its own, so that one that fails or hangs leaves the next ones as they are. The
report has the figures of every check, or its error. `--cpu` is a rehearsal: the same code on CPUs with gloo, with
little work, and without a report in benchmarks/results. `--shared` puts several ranks on each GPU: NCCL's messages are
real, and travel through sockets of this machine, so the results are checked and the seconds say nothing about GPUs.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.images import check_images
from benchmarks.gpu.job import check_job
from benchmarks.gpu.rank import CHECKS
from benchmarks.launcher import run_ranks

RESULT = Path(__file__).parents[1] / "results" / "gpu.json"
SHARED_RESULT = RESULT.with_name("gpu_shared.json")
TOTAL_S, CHECK_S = 600.0, 120.0  # of all checks, and the most of one
MOST_RANKS, SHARED_RANKS = 8, 4
NO_GPU = 2  # exit status
JOBS = {"job": check_job, "images": check_images}  # each starts its ranks itself
NAMES = [*JOBS, *CHECKS]


def main(arguments: list[str] | None = None) -> None:
    """Run the checks and write the report. Exit with 1 if a check fails, and with 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("--cpu", action="store_true", help="rehearse on CPUs")
    parser.add_argument("--shared", action="store_true", help="all ranks on the first GPU; without the job")
    parser.add_argument("--ranks", type=int, help="default: one per GPU; 2 in a rehearsal, 4 on a shared GPU")
    parser.add_argument("--check", action="append", choices=NAMES, help="only this check; may be repeated")
    parser.add_argument("--output", type=Path, help=f"the report; default: {RESULT.name}, in a rehearsal none")
    options = parser.parse_args(arguments)
    gpus = torch.cuda.device_count()
    if not options.cpu and not gpus:
        print(
            f"This machine has no GPU that PyTorch {torch.__version__} sees, so nothing was measured and no report was "
            "written. To rehearse the same checks on CPUs: make gpu CPU=yes",
            file=sys.stderr,
        )
        raise SystemExit(NO_GPU)
    if options.shared:
        ranks, names = options.ranks or SHARED_RANKS, list(CHECKS)  # a job refuses ranks with the same GPU
        os.environ["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    else:
        ranks, names = options.ranks or (2 if options.cpu else min(gpus, MOST_RANKS)), NAMES
    rows = run_checks(options.check or names, ranks, cpu=options.cpu, shared=options.shared)
    output = options.output or (None if options.cpu else SHARED_RESULT if options.shared else RESULT)
    if output:
        found = report(rows, ranks, cpu=options.cpu) | ({"shared": True} if options.shared else {})
        output.write_text(json.dumps(found, indent=1) + "\n")
        print(f"the report: {output}")
    failed = [row["check"] for row in rows if not row["ok"]]
    print(
        f"{len(rows) - len(failed)} of {len(rows)} checks passed" + (f"; failed: {', '.join(failed)}" if failed else "")
    )
    raise SystemExit(1 if failed else 0)


def run_checks(names: list[str], ranks: int, *, cpu: bool, shared: bool = False) -> list[dict[str, Any]]:
    """Run each check on `ranks` ranks, one after the other, until the time is over; print and return a row of each."""
    start, rows = time.monotonic(), []
    for name in names:
        left_s = TOTAL_S - (time.monotonic() - start)
        began = time.monotonic()
        if left_s <= 0:
            answer: dict[str, Any] = {"ok": False, "error": f"not run: the {TOTAL_S:g} s of all checks are over"}
        else:
            task = {"check": name, "cpu": cpu, "shared": shared}
            answer = _run_check(task, ranks, timeout_s=min(CHECK_S, left_s))
        row = {"check": name, "seconds": time.monotonic() - began, **answer}
        rows.append(row)
        print(f"{name:18} {row['seconds']:6.1f} s  {'passed' if row['ok'] else row['error']}", flush=True)
    return rows


def _run_check(task: dict[str, Any], ranks: int, *, timeout_s: float) -> dict[str, Any]:
    try:
        if check := JOBS.get(task["check"]):
            return {"ok": True, "figures": check(ranks, cpu=task["cpu"], timeout_s=timeout_s)}
        answer = run_ranks("benchmarks.gpu.rank", [""], ranks, task, timeout_s=timeout_s)
    # a rank crashed or hung, and printed nothing; or the job failed
    except (RuntimeError, TimeoutError, ValueError, IndexError, AssertionError, subprocess.TimeoutExpired) as error:
        return {"ok": False, "error": str(error)}
    assert isinstance(answer, dict)
    return answer


def report(rows: list[dict[str, Any]], ranks: int, *, cpu: bool) -> dict[str, Any]:
    """Return the report: the machine, the versions, and every check."""
    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "python": platform.python_version()}
    machine = {"machine": platform.machine(), "system": platform.system(), "gpus": gpus}
    return {"machine": machine, "versions": versions, "ranks": ranks, "rehearsal": cpu, "checks": rows}
