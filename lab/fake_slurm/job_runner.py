"""Carries jobs out as processes of this machine: begins them, asks them to end, kills them, notes how they ended."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lab.fake_slurm.faults import AGAIN_AFTER_S
from lab.fake_slurm.scheduler import begin
from lab.fake_slurm.state import RUNS, WAITS, Job, Stage

LOOK_S = 0.05
ENDS = {"preempt": "PREEMPTED", "fail": "NODE_FAIL", "limit": "TIMEOUT", "cancel": "CANCELLED by 0", "kill": "FAILED"}
AT_ONCE = ("kill", "fail")  # what gives no time to leave


class Carrier:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._carried: dict[int, subprocess.Popen[bytes]] = {}
        self._warned: set[int] = set()

    def carry(self, goes_on: Callable[[], bool]) -> None:
        """Carry jobs as long as `goes_on`, then kill what is left."""
        while goes_on():
            with self._stage.alone():
                for job in begin(self._stage):
                    self._start(job)
                for job in self._stage.jobs("state IN (?, ?)", *RUNS):
                    self._look_after(job)
            time.sleep(LOOK_S)
        for child in self._carried.values():
            _signal(child.pid, signal.SIGKILL)

    def _start(self, waiting: Job) -> None:
        (job,) = self._stage.jobs("row = ?", waiting.row)
        place = self._stage.place_of(job)
        words = {"%j": str(job.id), "%A": str(job.id), "%a": str(job.task or 0)}
        output = job.output
        for letter, word in words.items():
            output = output.replace(letter, word)
        with open(output, "ab") as log:
            child = subprocess.Popen(
                ["/bin/bash", str(place / "script")],
                env=_environment(job, place),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._carried[job.row] = child
        self._stage.change(job, pid=child.pid)

    def _look_after(self, job: Job) -> None:
        child = self._carried.get(job.row)
        status = child.poll() if child else None
        if status is not None or not (child or (job.pid and any(_session(job.pid)))):
            _signal(job.pid, signal.SIGKILL)  # what it left behind
            self._carried.pop(job.row, None)
            self._close(job, status)
            return
        ran_s, now = time.time() - job.started, time.time()
        if job.wish in AT_ONCE or (job.wish and now - job.wished > self._stage.number("kill_wait_s")):
            _signal(job.pid, signal.SIGKILL)
        elif job.wish and job.row not in self._warned:
            self._warned.add(job.row)
            _signal(job.pid, signal.SIGTERM, steps_alone=True)
        elif not job.wish and ran_s > 60 * job.minutes:
            self._stage.change(job, state="COMPLETING", wish="limit", wished=now)
        elif job.warns_s and ran_s > 60 * job.minutes - job.warns_s and -job.row not in self._warned:
            self._warned.add(-job.row)
            _signal(job.pid, signal.SIGUSR2, steps_alone=True)

    def _close(self, job: Job, status: int | None) -> None:
        self._warned -= {job.row, -job.row}
        if job.wish == "requeue" or (job.wish in ("preempt", "fail") and job.requeues):
            again = {"restarts": job.restarts + 1, "eligible": time.time() + AGAIN_AFTER_S, "wish": "", "pid": 0}
            self._stage.change(job, state=WAITS, reason="BeginTime", started=0, hosts="", **again)
        elif job.wish:
            self._stage.end(job, ENDS[job.wish], "0:15")
        elif status is None:
            self._stage.end(job, "NODE_FAIL")
        else:
            code = f"0:{-status}" if status < 0 else f"{status}:0"
            self._stage.end(job, "FAILED" if status else "COMPLETED", code)


def _environment(job: Job, place: Path) -> dict[str, str]:
    inherited: dict[str, str] = json.loads((place / "environment").read_text())
    told = {
        "SLURM_JOB_ID": str(job.id if job.task is None else f"{job.id}{job.task:04}"),
        "SLURM_JOB_NAME": job.name,
        "SLURM_JOB_NODELIST": job.hosts,
        "SLURM_NNODES": str(job.nodes),
        "SLURM_NTASKS": str(job.nodes * job.tasks_per_node),
        "SLURM_NTASKS_PER_NODE": str(job.tasks_per_node),
        "SLURM_TASKS_PER_NODE": f"{job.tasks_per_node}(x{job.nodes})",
        "SLURM_RESTART_COUNT": str(job.restarts),
    }
    if job.task is not None:
        told |= {"SLURM_ARRAY_JOB_ID": str(job.id), "SLURM_ARRAY_TASK_ID": str(job.task)}
    return inherited | told


def _signal(leader: int, number: signal.Signals, *, steps_alone: bool = False) -> None:
    """Signal the job's processes; with `steps_alone` not the script and its srun, as Slurm does."""
    for pid in _session(leader):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if not steps_alone or (pid != leader and b"/bin/srun\0" not in words):
                os.kill(pid, number)
        except (FileNotFoundError, ProcessLookupError):
            continue


def _session(leader: int) -> Iterator[int]:
    """The living processes of the session that this process began."""
    if not leader:
        return
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(after[3]) == leader and after[0] != "Z":
                yield int(entry.name)
