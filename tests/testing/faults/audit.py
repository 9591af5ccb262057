"""What must be true after any fault: no run lost, none doubled, every point stored that was written, and no other.

Counted from what nobody of the service wrote: the events files, the claims of the attempts, Slurm's own accounting.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from contract.folder.run_folder import RunFolder
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
    restarts: int
    lost_steps: int
    faults: list[str]


def audit(
    service: Service, run_ids: Sequence[int], accounting: Accounting, *, ends: Sequence[str] = ("done",)
) -> Audit:
    """Count all runs; `ends` are the states in which they may have ended."""
    lost: list[int] = []
    doubled: list[int] = []
    faults = submitted_twice(accounting)
    written = stored = finished = restarts = lost_steps = 0
    for run_id in run_ids:
        run = service.get(f"/runs/{run_id}")
        reported, folder = events(Path(run["folder"])), Path(run["folder"])
        if run["state"] in ends:
            finished += 1
        else:
            lost.append(run_id)
            faults.append(f"run {run_id} is {run['state']}: {run['reason']}")
        if why := _twice(reported, folder, is_read=bool(run["spec"].get("metrics"))):
            doubled.append(run_id)
            faults.append(f"run {run_id}: {why}")
        mine, theirs = steps_written(reported), steps_stored(service, run_id)
        written, stored = written + len(mine), stored + len(theirs)
        if mine != theirs:
            faults.append(f"run {run_id}: {len(mine)} steps written, {len(theirs)} stored")
        if run["state"] == "done" and not (_has_all_of(run, mine) and _has_finished(reported)):
            faults.append(f"run {run_id} is said to be done, its {run['steps']} steps are {len(mine)}")
        faults += [f"run {run_id}: {why}" for why in restart_faults(run, reported)]
        restarts += len(run["restarts"])
        lost_steps += sum(restart["lost_steps"] for restart in run["restarts"])
    return Audit(len(run_ids), finished, lost, doubled, written, stored, restarts, lost_steps, faults)


def submitted_twice(accounting: Accounting) -> list[str]:
    """Return in words what Slurm was given more than once."""
    # a submission's name is of one attempt, and with the task's number of one run
    named = Counter((name, job_id.partition("_")[2]) for job_id, name in accounting())
    twice = [f"{name} {task}".strip() for (name, task), count in named.items() if count > 1]
    return [f"Slurm was given {name} more than once" for name in twice]


def restart_faults(run: dict[str, Any], reported: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield in words which lost steps were not counted, or not exactly.

    The lost steps of a restart are those between the step at which it resumed and the last one that was written before.
    """
    before, last, resumed, written_steps = None, 0, dict[str, Any](), set[int]()
    for line in reported:
        if line["kind"] == "resumed":
            resumed = line
            if line["lost_steps"] != max(0, last - line["step"]):
                yield f"attempt {line['attempt']} resumed at {line['step']} after step {last} and counted {line}"
        if line["kind"] != "points" or "loss" not in line["values"]:
            continue
        taker = taker_of(line)
        if before not in (None, taker):
            base = max((step for step in written_steps if step < line["step"]), default=0)
            if not resumed or resumed["step"] != base:
                yield f"attempt {line['attempt']} took step {line['step']} first after {resumed or 'no resumption'}"
        if before != taker:
            resumed = {}
        before, last = taker, line["step"]
        written_steps.add(last)
    written = {line["attempt"]: (line["step"], line["lost_steps"]) for line in reported if line["kind"] == "resumed"}
    stored = {restart["attempt"]: (restart["step"], restart["lost_steps"]) for restart in run["restarts"]}
    if written != stored:
        yield f"the restarts written are {written}, stored {stored}"


def taker_of(line: Mapping[str, Any]) -> float:
    """Return what took a step: the process that a program of chaos names, else the attempt."""
    return float(line["values"].get("process") or line["attempt"])


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


def steps_to_store(run: dict[str, Any]) -> list[int]:
    """The steps of a whole run; of a program whose output is read, those in the log: an agent may lose others."""
    patterns = [source["pattern"] for source in (run["spec"].get("metrics") or ()) if source["kind"] == "output"]
    if not patterns:
        return list(range(1, run["steps"] + 1))
    text = (Path(run["folder"]) / "out.log").read_text(errors="replace")
    return sorted({int(found["step"]) for line in text.splitlines() if (found := re.search(patterns[0], line))})


def _has_all_of(run: dict[str, Any], steps: Sequence[int]) -> bool:
    """Whether all steps that must be stored are there, and none that the run does not have; srun may lose lines."""
    return {*steps_to_store(run)} <= {*steps} <= {*range(1, run["steps"] + 1)}


def steps_stored(service: Service, run_id: int) -> list[int]:
    return list(service.get(f"/runs/{run_id}/points", name="loss")["series"].get("loss", {"steps": []})["steps"])


def _has_finished(reported: Sequence[dict[str, Any]]) -> bool:
    return bool(reported) and reported[-1]["kind"] == "finished"


def _twice(reported: Sequence[dict[str, Any]], folder: Path, *, is_read: bool) -> str | None:
    """Whether two jobs have trained in one attempt, or an attempt went on beside a later one.

    `is_read`: the agent reads the steps from files of the program.
    """
    starts = Counter(line["attempt"] for line in reported if line["kind"] == "started")
    if most := [attempt for attempt, count in starts.items() if count > 1]:
        return f"attempt {most[0]} began {starts[most[0]]} times"
    claims = {attempt: RunFolder(folder).read_claim(attempt) for attempt in starts}
    if None in claims.values() or len(set(claims.values())) != len(claims):
        return f"the attempts that began have the claims {claims}"
    order = [line["attempt"] for line in reported]
    if order != sorted(order):
        return "an attempt went on beside a later one"
    taken: Collection[tuple[float, int, float]] = [
        (taker_of(line) if is_read else line["attempt"], line["step"], line["values"]["loss"])
        for line in reported
        if line["kind"] == "points" and "loss" in line["values"]
    ]
    if is_read:  # an agent that is killed before it stores its place in a file reads lines a second time
        taken = set(taken)
    return "a step was taken twice in one attempt" if len(taken) != len({one[:2] for one in taken}) else None
