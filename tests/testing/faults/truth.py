"""Whether what the service tells of its runs is what is really so, and how soon after a fault it is so again.

What is so is taken from those who do not belong to the service: Slurm's own list of jobs, the claims of the attempts
and the events of the run folders. A run that waits in the service's queue has no job; one that is told to run has a job
that runs, has the attempt and has said that it started; one whose job is gone is never told to be on it still. That a
run is in submission is no answer: whether its cluster has it must be known by then.
"""

import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import httpx
import psutil

from contract.folder.array_folder import ArrayFolder
from contract.folder.job_identity import JOB_NAME_VARIABLE, local_job_id
from contract.folder.run_folder import RunFolder
from runfiles.packed import read_members
from tests.testing.faults.audit import events
from tests.testing.service import Service

WITHIN_S = 30.0
LAG_S = 3.0  # what a run has said is read once a second, and a job that begins is seen then
RUNS = ("RUNNING", "COMPLETING", "SUSPENDED")
UNDER_WAY = ("PENDING", "CONFIGURING", *RUNS)
LAST_WORDS = {"finished", "failed", "paused"}


class Job(NamedTuple):
    """A job that its cluster has, in the cluster's own words."""

    id: str
    name: str
    state: str


Jobs = Callable[[], Sequence[Job]]


class So(NamedTuple):
    """What is so of one attempt at a run."""

    jobs: Sequence[Job]  # under way, and not bound to leave because another job has the attempt
    holder: str | None
    reported: Sequence[str]  # the kinds of its events, each once

    def __str__(self) -> str:
        jobs = ", ".join(f"job {job.id} ({job.name}) is {job.state}" for job in self.jobs) or "no job is under way"
        return f"{jobs}; the attempt belongs to {self.holder}; it said {', '.join(self.reported) or 'nothing'}"


Past = dict[tuple[int, int], list[tuple[float, So]]]  # by run and attempt: what was so, and when


def true_soon(
    service: Service, run_ids: Sequence[int], jobs: Jobs, *, since: float | None = None, within_s: float = WITHIN_S
) -> float:
    """Wait until each run has been told as it is; return how long that took from the fault's end.

    `since` is that moment (time.monotonic), else it is now. Runs go on meanwhile, so each has a moment of its own, and
    what is told may be as old as a tick or two. Where more than twice as many want to compute as there are cores, all
    have so much more time: what is late there is not the service.
    """
    began = time.monotonic() if since is None else since
    wrong = dict.fromkeys(run_ids, "not looked at yet")
    past: Past = defaultdict(list)
    crowd = [os.getloadavg()[0]]  # of a minute; at its beginning a crowd is seen by who wants to compute just now
    while wrong:
        crowd.append(wanting())
        there = list(jobs())
        wrong = {run_id: why for run_id in wrong if (why := _untrue(service, run_id, there, past))}
        took_s = time.monotonic() - began
        assert not wrong or took_s < within_s * crowding(crowd), "\n".join(
            [f"{took_s:.1f} s after the fault's end", *wrong.values(), service.story(next(iter(wrong)))]
        )
        time.sleep(0.1)
    print(f"true after {took_s:.1f} s")
    return took_s


def crowding(crowd: Sequence[float]) -> float:
    """1 where there are at most two for each core who want to compute, by the minute's load or those seen since."""
    most = max(crowd[0], fmean(crowd[1:] or crowd))
    return max(1.0, most / (2 * (os.cpu_count() or 1)))


def wanting() -> float:
    """How many want to compute at this moment (proc(5), loadavg), without who asks."""
    return float(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]) - 1.0


def _untrue(service: Service, run_id: int, there: Sequence[Job], past: Past) -> str | None:
    try:
        run = service.get(f"/runs/{run_id}")
    except (httpx.TransportError, AssertionError) as error:
        return f"of run {run_id} nothing is told: {error!r:.200}"
    so, present, attempt = what_is_so(run, there), time.monotonic(), run["attempt"]
    past[run_id, attempt].append((present, so))
    if any(agree(run, was) for at, was in past[run_id, attempt] if present - at <= LAG_S):
        return None
    result = f"run {run_id} is told to be {run['state']} in attempt {run['attempt']} with job {run['job_id']}"
    return f"{result}, unknown since {run['unknown_since']}; so is: {so}"


def what_is_so(run: dict[str, Any], there: Sequence[Job]) -> So:
    folder = RunFolder(Path(run["folder"]))
    attempt: int = run["attempt"]
    holder = folder.read_claim(attempt) if attempt else None
    mine = [job for job in there if job.state in UNDER_WAY and _carries(job, folder, attempt)]
    reported = dict.fromkeys(line["kind"] for line in events(folder.path) if line["attempt"] == attempt)
    # where runs share a job, who has the attempt is known by the job and a place in there
    return So([job for job in mine if holder is None or holder.partition(" ")[0] == job.id], holder, list(reported))


def _carries(job: Job, folder: RunFolder, attempt: int) -> bool:
    """Whether the job is of this attempt at the run: by its name, of an array by where its task leads.

    A job of several runs carries one no more when its own part has ended.
    """
    submitted = f"bigbatch-{folder.path.name.rpartition('-')[2]}-{attempt}"
    if not re.fullmatch(rf"bigbatch-\w+-{attempt}(\.\d+)?", job.name):
        return False
    _, _, task = job.id.partition("_")
    if task:
        place = ArrayFolder.of(folder.path.parent, job.name).path / task
        carried = [place, *(member.path for member in read_members(place).values())]
        mine = folder.path.resolve() in [path.resolve() for path in carried]
        return mine and folder.read_part_exit(attempt) is None
    return job.name.partition(".")[0] == submitted


def agree(run: dict[str, Any], so: So) -> bool:
    """Whether what is told is so."""
    here = [job for job in so.jobs if job.id == run["job_id"]]
    runs = any(job.state in RUNS for job in here)
    last_word, started = LAST_WORDS.intersection(so.reported), "started" in so.reported
    match run["state"]:
        case "queued":
            return not so.jobs and "finished" not in so.reported
        case "submitting":
            return False
        case "pending":
            return bool(here) and not started and run["unknown_since"] is None
        case "running":
            return runs and started and not last_word and run["unknown_since"] is None
        case "paused":
            return bool(here) and bool(last_word)
        case "done":
            return "finished" in so.reported
        case "failed" | "cancelled":
            return bool(last_word) or not so.jobs
    raise AssertionError(f"a state of no known name: {run['state']}")


def jobs_of_this_machine() -> list[Job]:
    """The jobs that are processes here, each by the mark on its first one."""
    return [Job(local_job_id(name, leader.pid), name, "RUNNING") for leader, name in _leaders()]


def _leaders() -> Iterator[tuple[psutil.Process, str]]:
    for process in psutil.process_iter():
        try:
            name = process.environ().get(JOB_NAME_VARIABLE)
            parent = process.parent()
            if name and (parent is None or parent.environ().get(JOB_NAME_VARIABLE) != name):
                yield process, name
        except psutil.Error:
            continue
