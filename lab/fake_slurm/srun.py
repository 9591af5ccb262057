"""srun inside a job: one process per rank, their lines in one log, each with its rank's number.

With --exact it is one step of several at once, as wide as --ntasks says. USR2 goes on to its ranks, TERM kills them.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO

FLAGS = ("--unbuffered", "--label", "--exact")  # options without a value


def main(command: str, folder: str, words: Sequence[str]) -> int:
    """Start the ranks, wait for all; one that fails ends the others where --kill-on-bad-exit=1 says so."""
    options, program = _split(words)
    output = options.get("--output", "/dev/null")
    for letter, variable in {"%a": "SLURM_ARRAY_TASK_ID", "%j": "SLURM_JOB_ID", "%A": "SLURM_ARRAY_JOB_ID"}.items():
        output = output.replace(letter, os.environ.get(variable, "0"))
    hosts, is_part = os.environ["SLURM_JOB_NODELIST"].split(","), "--exact" in options
    per_host = int(options["--ntasks"] if is_part else os.environ["SLURM_NTASKS_PER_NODE"])
    step = _number(Path(folder)) if is_part else 0
    ranks: list[subprocess.Popen[bytes]] = []
    signal.signal(signal.SIGUSR2, lambda *_: _signal(ranks, signal.SIGUSR2))
    signal.signal(signal.SIGTERM, lambda *_: _signal(ranks, signal.SIGKILL))
    with open(output, "ab", buffering=0) as log:
        ranks += [_start(program, rank, hosts, per_host, step) for rank in range(len(hosts) * per_host)]
        readers = [threading.Thread(target=_label, args=(rank, child, log)) for rank, child in enumerate(ranks)]
        for reader in readers:
            reader.start()
        places = [f"{hosts[rank // per_host]}: task {rank}" for rank in range(len(ranks))]
        worst = _wait(ranks, places, kills=options.get("--kill-on-bad-exit") == "1")
        for reader in readers:
            reader.join()
    return worst


def _number(folder: Path) -> int:
    """The first number that no step of this job has."""
    job = f"{os.environ['SLURM_JOB_ID']}-{os.environ['SLURM_RESTART_COUNT']}"
    (folder / "steps").mkdir(exist_ok=True)
    for number in count():
        try:
            (folder / "steps" / f"{job}.{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return number
    raise AssertionError


def _split(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    options, left = {}, list(words)
    while left and left[0].startswith("-"):
        name, is_whole, value = left.pop(0).partition("=")
        options[name] = value if is_whole or name in FLAGS else left.pop(0)
    return options, left


def _start(
    program: Sequence[str], rank: int, hosts: Sequence[str], per_host: int, step: int
) -> "subprocess.Popen[bytes]":
    node = rank // per_host
    told = {
        "SLURM_PROCID": rank,
        "SLURM_LOCALID": rank % per_host,
        "SLURM_NODEID": node,
        "SLURMD_NODENAME": hosts[node],
        "SLURM_STEP_ID": step,
        "SLURM_STEP_NUM_TASKS": len(hosts) * per_host,
    }
    environment = {**os.environ, **{name: str(value) for name, value in told.items()}}
    pipe = subprocess.PIPE
    return subprocess.Popen(program, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT)


def _signal(ranks: Sequence["subprocess.Popen[bytes]"], number: signal.Signals) -> None:
    for rank in ranks:
        if rank.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(rank.pid, number)  # not send_signal: that takes a status away from whoever waits for it


def _label(rank: int, child: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        log.write(f"{rank}: ".encode() + line)


def _wait(ranks: Sequence["subprocess.Popen[bytes]"], places: Sequence[str], *, kills: bool) -> int:
    """Tell in srun's words of every rank that ends badly, and of the first that the others are ended."""
    worst, left = 0, {child.pid: (child, place) for child, place in zip(ranks, places, strict=True)}
    while left:
        pid, status = os.wait()
        child, place = left.pop(pid, (None, ""))
        if child is None:
            continue
        child.returncode = os.waitstatus_to_exitcode(status)
        code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        if code:
            how = f"Exited with exit code {code}" if child.returncode > 0 else signal.strsignal(-child.returncode)
            print(f"srun: error: {place}: {how}", file=sys.stderr, flush=True)
        if code and kills and not worst:
            print("srun: launch/slurm: _step_signal: Terminating the step", file=sys.stderr, flush=True)
        worst = max(worst, code)
        if code and kills:
            for other, _ in left.values():
                other.send_signal(signal.SIGKILL)
    return worst
