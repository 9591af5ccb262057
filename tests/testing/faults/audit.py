"""What must be true after any fault: no run lost, none doubled, every point stored that was written, and no other.

Counted from what nobody of the service wrote: the events files, the claims of the attempts, Slurm's own accounting.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.testing.service import Service

FORGED = "forged"  # a field of lines that a fault wrote, which are no events
Accounting = Callable[[], Sequence[tuple[str, str]]]  # the id and name of every job that Slurm ever had


class Audit(NamedTuple):
    """What was counted; `faults` says in words what must not be."""

    submitted: int
    finished: int
    lost: list[int]
    doubled: list[int]
    written: int
    stored: int
    faults: list[str]


def audit(
    service: Service, run_ids: Sequence[int], accounting: Accounting, *, ends: Sequence[str] = ("done",)
) -> Audit:
    """Count all runs; `ends` are the states in which they may have ended."""
    # a submission's name is of one attempt, and with the task's number of one run
    named = Counter((name, job_id.partition("_")[2]) for job_id, name in accounting())
    twice = [f"{name} {task}".strip() for (name, task), count in named.items() if count > 1]
    lost: list[int] = []
    doubled: list[int] = []
    faults = [f"Slurm was given {name} more than once" for name in twice]
    written = stored = finished = 0
    for run_id in run_ids:
        run = service.get(f"/runs/{run_id}")
        reported, folder = events(Path(run["folder"])), Path(run["folder"])
        if run["state"] in ends:
            finished += 1
        else:
            lost.append(run_id)
            faults.append(f"run {run_id} is {run['state']}: {run['reason']}")
        if why := _twice(reported, folder):
            doubled.append(run_id)
            faults.append(f"run {run_id}: {why}")
        mine, theirs = steps_written(reported), steps_stored(service, run_id)
        written, stored = written + len(mine), stored + len(theirs)
        if mine != theirs:
            faults.append(f"run {run_id}: {len(mine)} steps written, {len(theirs)} stored")
        if run["state"] == "done" and (mine != list(range(1, run["steps"] + 1)) or reported[-1]["kind"] != "finished"):
            faults.append(f"run {run_id} is said to be done, its {run['steps']} steps are {len(mine)}")
    return Audit(len(run_ids), finished, lost, doubled, written, stored, faults)


def all_is_well(service: Service, run_ids: Sequence[int], accounting: Accounting, **asked: Any) -> None:
    found = audit(service, run_ids, accounting, **asked)
    worst = list(dict.fromkeys([*found.lost, *found.doubled, *run_ids]))[:2]
    assert not found.faults, "\n".join([*found.faults, *map(service.story, worst)])


def events(folder: Path) -> list[dict[str, Any]]:
    """The whole lines of the events file."""
    path, found = folder / "events.jsonl", []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError):  # torn by what ended its writer, or written by a fault
            continue
    return [line for line in found if FORGED not in line]


def hosts_of(run: dict[str, Any]) -> list[str]:
    """The hosts of the attempt that began last."""
    starts = [line["hosts"] for line in events(Path(run["folder"])) if line["kind"] == "started"]
    return list(starts[-1]) if starts else []


def steps_written(reported: Sequence[dict[str, Any]]) -> list[int]:
    """The steps of which a loss was told; what is taken again after a resume counts once."""
    return sorted({line["step"] for line in reported if line["kind"] == "points" and "loss" in line["values"]})


def steps_stored(service: Service, run_id: int) -> list[int]:
    return list(service.get(f"/runs/{run_id}/points", name="loss")["series"].get("loss", {"steps": []})["steps"])


def _twice(reported: Sequence[dict[str, Any]], folder: Path) -> str | None:
    """Whether two jobs have trained in one attempt, or an attempt went on beside a later one."""
    starts = Counter(line["attempt"] for line in reported if line["kind"] == "started")
    if most := [attempt for attempt, count in starts.items() if count > 1]:
        return f"attempt {most[0]} began {starts[most[0]]} times"
    for attempt in starts:
        if not (folder / "attempts" / f"{attempt}.json").exists():
            return f"attempt {attempt} began without a claim"
    order = [line["attempt"] for line in reported]
    if order != sorted(order):
        return "an attempt went on beside a later one"
    taken = [
        (line["attempt"], line["step"]) for line in reported if line["kind"] == "points" and "loss" in line["values"]
    ]
    return "a step was taken twice in one attempt" if len(taken) != len(set(taken)) else None
