"""The command srun inside a job: start one process per rank and label the lines of each with its rank.

With --exact several steps can run at the same time, each with --ntasks ranks per host. SIGUSR2 is passed on to the
ranks; on SIGTERM the ranks get SIGKILL.
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
    """Start the ranks and wait for all; with --kill-on-bad-exit=1 a failed rank ends the other ranks."""
    options, program = _split(words)
    output = options.get("--output", "/dev/null")
    for letter, variable in {"%a": "SLURM_ARRAY_TASK_ID", "%j": "SLURM_JOB_ID", "%A": "SLURM_ARRAY_JOB_ID"}.items():
        output = output.replace(letter, os.environ.get(variable, "0"))
    hosts, is_exact = os.environ["SLURM_JOB_NODELIST"].split(","), "--exact" in options
    per_host = int(options["--ntasks"] if is_exact else os.environ["SLURM_NTASKS_PER_NODE"])
    step = _new_step(Path(folder)) if is_exact else 0
    ranks: list[subprocess.Popen[bytes]] = []
    signal.signal(signal.SIGUSR2, lambda *_: _signal(ranks, signal.SIGUSR2))
    signal.signal(signal.SIGTERM, lambda *_: _signal(ranks, signal.SIGKILL))
    with open(output, "ab", buffering=0) as log:
        ranks += [_start(program, rank, hosts, per_host, step) for rank in range(len(hosts) * per_host)]
        readers = [threading.Thread(target=_label, args=(rank, child, log)) for rank, child in enumerate(ranks)]
        for reader in readers:
            reader.start()
        names = [f"{hosts[rank // per_host]}: task {rank}" for rank in range(len(ranks))]
        status = _wait(ranks, names, kill_on_bad_exit=options.get("--kill-on-bad-exit") == "1")
        for reader in readers:
            reader.join()
    return status


def _new_step(folder: Path) -> int:
    """Return the lowest step number that this job has not used."""
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
    options, rest = {}, list(words)
    while rest and rest[0].startswith("-"):
        name, has_value, value = rest.pop(0).partition("=")
        options[name] = value if has_value or name in FLAGS else rest.pop(0)
    return options, rest


def _start(
    program: Sequence[str], rank: int, hosts: Sequence[str], per_host: int, step: int
) -> "subprocess.Popen[bytes]":
    node = rank // per_host
    variables = {
        "SLURM_PROCID": rank,
        "SLURM_LOCALID": rank % per_host,
        "SLURM_NODEID": node,
        "SLURMD_NODENAME": hosts[node],
        "SLURM_STEP_ID": step,
        "SLURM_STEP_NUM_TASKS": len(hosts) * per_host,
    }
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    pipe = subprocess.PIPE
    return subprocess.Popen(program, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT)


def _signal(ranks: Sequence["subprocess.Popen[bytes]"], number: signal.Signals) -> None:
    for rank in ranks:
        if rank.returncode is None:
            for pid in _stopped_tree(rank.pid) if number == signal.SIGKILL else [rank.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)  # send_signal would poll and consume the exit status that _wait needs


def _stopped_tree(root: int) -> set[int]:
    """Stop a rank and the processes below it; return all: one that runs could start a further one before its end."""
    stopped: set[int] = set()
    while new := {root, *_descendants(root)} - stopped:
        for pid in new:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= new
    return stopped


def _descendants(root: int) -> list[int]:
    """Return the processes below a rank: slurmstepd kills all processes of a step, whatever their parent."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, queue = [], list(children.get(root, ()))
    while queue:
        found.append(queue.pop())
        queue += children.get(found[-1], ())
    return found


def _label(rank: int, child: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        log.write(f"{rank}: ".encode() + line)


def _wait(ranks: Sequence["subprocess.Popen[bytes]"], names: Sequence[str], *, kill_on_bad_exit: bool) -> int:
    """Wait for all ranks, report failed ranks in srun's words, and return the highest exit code."""
    highest, running = 0, {child.pid: (child, name) for child, name in zip(ranks, names, strict=True)}
    while running:
        pid, status = os.wait()
        child, name = running.pop(pid, (None, ""))
        if child is None:
            continue
        child.returncode = os.waitstatus_to_exitcode(status)
        code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        if code:
            how = f"Exited with exit code {code}" if child.returncode > 0 else signal.strsignal(-child.returncode)
            print(f"srun: error: {name}: {how}", file=sys.stderr, flush=True)
        if code and kill_on_bad_exit and not highest:
            print("srun: launch/slurm: _step_signal: Terminating the step", file=sys.stderr, flush=True)
        highest = max(highest, code)
        if code and kill_on_bad_exit:
            _signal([other for other, _ in running.values()], signal.SIGKILL)
    return highest
