"""srun inside a job: one process per rank, their lines in one log, each with its rank's number."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO


def main(command: str, folder: str, words: Sequence[str]) -> int:
    """Start the ranks, wait for all; one that fails ends the others where --kill-on-bad-exit=1 says so."""
    options, program = _split(words)
    output = options.get("--output", "/dev/null")
    for letter, variable in {"%a": "SLURM_ARRAY_TASK_ID", "%j": "SLURM_JOB_ID", "%A": "SLURM_ARRAY_JOB_ID"}.items():
        output = output.replace(letter, os.environ.get(variable, "0"))
    hosts, per_host = os.environ["SLURM_JOB_NODELIST"].split(","), int(os.environ["SLURM_NTASKS_PER_NODE"])
    with open(output, "ab", buffering=0) as log:
        ranks = [_start(program, rank, hosts, per_host) for rank in range(len(hosts) * per_host)]
        readers = [threading.Thread(target=_label, args=(rank, child, log)) for rank, child in enumerate(ranks)]
        for reader in readers:
            reader.start()
        worst = _wait(ranks, kills=options.get("--kill-on-bad-exit") == "1")
        for reader in readers:
            reader.join()
    return worst


def _split(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    options, left = {}, list(words)
    while left and left[0].startswith("-"):
        name, is_whole, value = left.pop(0).partition("=")
        options[name] = value if is_whole or name in ("--unbuffered", "--label") else left.pop(0)
    return options, left


def _start(program: Sequence[str], rank: int, hosts: Sequence[str], per_host: int) -> "subprocess.Popen[bytes]":
    node = rank // per_host
    told = {
        "SLURM_PROCID": rank,
        "SLURM_LOCALID": rank % per_host,
        "SLURM_NODEID": node,
        "SLURMD_NODENAME": hosts[node],
        "SLURM_STEP_ID": 0,
        "SLURM_STEP_NUM_TASKS": len(hosts) * per_host,
    }
    environment = {**os.environ, **{name: str(value) for name, value in told.items()}}
    pipe = subprocess.PIPE
    return subprocess.Popen(program, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT)


def _label(rank: int, child: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        log.write(f"{rank}: ".encode() + line)


def _wait(ranks: Sequence["subprocess.Popen[bytes]"], *, kills: bool) -> int:
    worst, left = 0, {child.pid: child for child in ranks}
    while left:
        pid, status = os.wait()
        child = left.pop(pid, None)
        if child is None:
            continue
        child.returncode = os.waitstatus_to_exitcode(status)
        code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        worst = max(worst, code)
        if code and kills:
            print(f"srun: error: task exited with {code}: the others are ended", file=sys.stderr, flush=True)
            for other in left.values():
                other.send_signal(signal.SIGKILL)
    return worst
