"""A trainer that begins as the light one does and then attacks the service by what it writes into its run folder.

The seed of the run chooses the attack: FIRST_SEED + its place in ATTACKS; any other run trains as a light one. An
attacker lives until the file LEAVE stands beside the run folders, or for LIFETIME_S, and exits with an error then.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from contract.folder.run_folder import RECORD_BYTES, RunFolder
from runfiles.claim import claim_attempt
from tests.testing.faults import light
from trainers.job import SPEC_WAIT_S, wait_for_spec
from trainers.progress.reporter import Reporter
from trainers.ranks import heartbeat

FIRST_SEED = 1000
LEAVE = "leave"  # a file beside the run folders: all attackers exit
PLANTED = "planted"  # a file in the run folder: the attack is there
LIFETIME_S = "HOSTILE_LIFETIME_S"  # seconds after which an attacker exits by itself, in the environment
LARGE_BYTES = 16_000_000
PROGRAM = """\
#!/bin/sh
while [ "$1" != trainers ]; do shift; done
PYTHONPATH={house} exec {python} -m tests.testing.faults.hostile "$2" "$4"
"""
POINT: dict[str, Any] = {"kind": "points", "attempt": 1, "at": 1.0, "step": 2, "values": {"loss": 1.0}}
FAILED: dict[str, Any] = {"kind": "failed", "attempt": 1, "at": 1.0, "rank": 0, "reason": "no"}
RESUMED: dict[str, Any] = {"kind": "resumed", "attempt": 1, "at": 1.0, "step": 0, "lost_steps": 0}
LOST: dict[str, Any] = {"attempt": 1, "rank": 3, "step": 2, "at": 1.0, "reason": "lost"}
BOUND: dict[str, Any] = {"host": "h", "cpus": "0-3", "threads": 1, "memory": "default", "notes": ["n" * 100]}
FELL: dict[str, Any] = {"at": 1.0, "host": "h", "reason": "rank 0 on h: ValueError: no"}
Attack = Callable[[RunFolder], None]


def link(name: str, target: str) -> Attack:
    """Replace a file by a symbolic link."""

    def plant(folder: RunFolder) -> None:
        (folder.path / name).unlink(missing_ok=True)
        (folder.path / name).symlink_to(target)

    return plant


def fifo(name: str) -> Attack:
    """Replace a file by a FIFO."""

    def plant(folder: RunFolder) -> None:
        (folder.path / name).unlink(missing_ok=True)
        os.mkfifo(folder.path / name)

    return plant


def is_folder(name: str) -> Attack:
    """Replace a file by a folder."""

    def plant(folder: RunFolder) -> None:
        (folder.path / name).unlink(missing_ok=True)
        (folder.path / name).mkdir()

    return plant


def appended(name: str, data: bytes, times: int = 1) -> Attack:
    """Append bytes to a file."""

    def plant(folder: RunFolder) -> None:
        with (folder.path / name).open("ab") as file:
            for _ in range(times):
                file.write(data)

    return plant


def event(line: Mapping[str, Any]) -> Attack:
    return appended("events.jsonl", json.dumps(line).encode() + b"\n")


def sparse(name: str, size_bytes: int) -> Attack:
    """Enlarge a file without writing a byte."""
    return lambda folder: os.truncate(folder.path / name, size_bytes)


def linked_attempts(folder: RunFolder) -> None:
    """Replace the folder `attempts` by a link to a folder elsewhere."""
    elsewhere = folder.path / "elsewhere"
    (folder.path / "attempts").rename(elsewhere)
    (folder.path / "attempts").symlink_to(elsewhere)


def metric_names(folder: RunFolder) -> None:
    """Report metrics with other names in each event."""
    with folder.events.open("ab") as file:
        for first in range(0, 200_000, 1_000):
            values = {f"{number:0150}": 1.0 for number in range(first, first + 1_000)}
            file.write(json.dumps(POINT | {"values": values}).encode() + b"\n")


def flood(folder: RunFolder) -> None:
    """Write 60 MB of valid events: more than half a million points."""
    with folder.events.open("ab") as file:
        for first in range(2, 700_000, 10_000):
            lines = (json.dumps(POINT | {"step": step}) for step in range(first, first + 10_000))
            file.write("".join(f"{line}\n" for line in lines).encode())


def rank_failures(folder: RunFolder) -> None:
    """Record the failure of forty thousand ranks."""
    for rank in range(40_000):
        (folder.path / f"attempts/1.rank-{rank}.json").write_text(json.dumps(FELL | {"rank": rank}))


def large_failures(folder: RunFolder) -> None:
    """Record failures with a trace of nearly a megabyte each."""
    text = json.dumps(FELL | {"rank": 1, "trace": "x" * 1_000_000})
    for rank in range(60):
        (folder.path / f"attempts/1.rank-{rank}.json").write_text(text)


def lost_ranks(folder: RunFolder) -> None:
    """Record sixteen megabytes of lost ranks."""
    line = json.dumps(LOST).encode() + b"\n"
    (folder.path / "lost.jsonl").write_bytes(line * (LARGE_BYTES // len(line)))


def bindings(folder: RunFolder) -> None:
    """Record the bindings of as many ranks as the largest record that is read has."""
    count = RECORD_BYTES // (len(json.dumps(BOUND | {"rank": 10**5})) + 2) - 1
    ranks = [BOUND | {"rank": rank} for rank in range(count)]
    (folder.path / "binding.json").write_text(json.dumps({"attempt": 1, "ranks": ranks}))


def times(folder: RunFolder) -> None:
    """Write a table of step times with rows of any kind."""
    rows = ["1,1,1,0", "1,9,1,0,1,1,1,1,1", f"1,1,1,{'9' * 5000},1,1,1,1,1", "1,1,1,0,nan,inf,1e999,-1,1", "\0,\0", ","]
    many = [f"1,1,1,{rank},1e300,1e300,1,1,1" for rank in range(20_000)]
    header = "attempt,first_step,last_step,rank,compute_s,update_s,communication_s,input_s,idle_s"
    folder.times.write_text("\n".join([header, *rows, *many, *rows]))


ATTACKS: Mapping[str, Attack] = {
    "log linked to /etc/shadow": link("out.log", "/etc/shadow"),
    "log linked to the environment of its reader": link("out.log", "/proc/self/environ"),
    "log is a FIFO": fifo("out.log"),
    "claim is a FIFO": fifo("attempts/1.json"),
    "choices linked to /dev/zero": link("collective.json", "/dev/zero"),
    "a range of 10^11 tasks": appended("out.log", b"srun: error: h: tasks 0-99999999999: Killed\n"),
    "250 KB of execve": appended("out.log", b"execve(): " * 25_000 + b"\n"),
    "5,000 digits and MemoryError": appended("out.log", b"9" * 5_000 + b": MemoryError\n"),
    "a step of 2^70": event(POINT | {"step": 2**70}),
    "a moment of 1e300": event(RESUMED | {"at": 1e300}),
    "rank -5": event(FAILED | {"rank": -5}),
    "malformed times": times,
    "NUL in a reason": event(FAILED | {"reason": "a\0b\x1b[2J"}),
    "events are a FIFO": fifo("events.jsonl"),
    "events are a folder": is_folder("events.jsonl"),
    "10 MB without a newline": appended("events.jsonl", b"x" * 10_000_000),
    "a log of 1 TB": sparse("out.log", 10**12),
    "events of 1 TB": sparse("events.jsonl", 10**12),
    "deep nesting": appended("events.jsonl", b"[" * 1_000_000 + b"\n" + b'{"kind":' * 100_000 + b"\n"),
    "no UTF-8": appended("events.jsonl", b'{"kind": "points\xff\xfe\xed\xa0\x80"}\n' * 1_000),
    "numbers that are not finite": event(POINT | {"values": {"loss": float("nan"), "x": float("inf")}}),
    "attempts are linked": linked_attempts,
    "a million invalid lines": appended("events.jsonl", b"{}\n" * 10_000, times=100),
    "metrics of ever new names": metric_names,
    "a flood of points": flood,
    "forty thousand failed ranks": rank_failures,
    "failures of a megabyte": large_failures,
    "lost ranks of 16 MB": lost_ranks,
    "bindings of the largest size": bindings,
}
SEEDS = {name: FIRST_SEED + place for place, name in enumerate(ATTACKS)}


def program(folder: Path) -> Path:
    """Write the program that takes the place of Python on the compute nodes."""
    path = folder / "hostile-python"
    path.write_text(PROGRAM.format(house=light.HOUSE, python=sys.executable))
    path.chmod(0o755)
    return path


def attack(folder: RunFolder, attempt: int, name: str) -> int:
    """Carry out one attempt; return the exit status."""
    claim_attempt(folder, attempt, job=light.job_name())
    heartbeat.start_heartbeat(folder, attempt, every_s=2.0)
    report = Reporter(folder, attempt, rank=0)
    report.started([os.environ["SLURMD_NODENAME"]], device="cpu", steps=folder.read_spec().steps, versions={})
    report.points(1, {"loss": 1.0})
    print(f"attack: {name}", flush=True)
    ATTACKS[name](folder)
    (folder.path / PLANTED).touch()
    until = time.monotonic() + float(os.environ.get(LIFETIME_S, "1800"))
    while not (folder.path.parent / LEAVE).exists() and time.monotonic() < until:
        time.sleep(0.2)
    return 1


def main(path: str, attempt: str) -> int:
    """Attack or train, as the seed of the run says."""
    folder = RunFolder(Path(path).resolve())
    wait_for_spec(folder, SPEC_WAIT_S)
    names = {seed: name for name, seed in SEEDS.items()}
    if name := names.get(folder.read_spec().seed):
        return attack(folder, int(attempt), name)
    return light.train(folder, int(attempt))


if __name__ == "__main__":
    status = main(sys.argv[1], sys.argv[2])
    sys.stdout.flush()
    os._exit(status)
