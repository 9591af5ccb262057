"""Run jobs as processes of this machine: start them, signal them, and record how they end."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lab.fake_slurm.faults import REQUEUE_DELAY_S
from lab.fake_slurm.scheduler import start_jobs
from lab.fake_slurm.state import ON_HOSTS, PENDING, ClusterState, Job

POLL_S = 0.05
FINAL_STATES = {  # requested end -> final state
    "preempt": "PREEMPTED",
    "fail": "NODE_FAIL",
    "limit": "TIMEOUT",
    "cancel": "CANCELLED by 0",
    "kill": "FAILED",
}
WITHOUT_GRACE = ("kill", "fail", "again")  # requested ends that send SIGKILL at once


class JobRunner:
    """Run the jobs of one cluster."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._signalled: set[int] = set()  # the row of a job after SIGTERM, minus the row after its warning

    def run(self, should_continue: Callable[[], bool]) -> None:
        """Run jobs while `should_continue` returns True, then kill all of them."""
        while should_continue():
            with self._cluster.transaction():
                for job in start_jobs(self._cluster):
                    self._start(job)
                for job in self._cluster.jobs("state IN (?, ?)", *ON_HOSTS):
                    self._supervise(job)
            time.sleep(POLL_S)
        for child in self._children.values():
            _signal(child.pid, signal.SIGKILL)

    def _start(self, pending: Job) -> None:
        (job,) = self._cluster.jobs("row = ?", pending.row)
        folder = self._cluster.job_folder(job)
        output = job.output
        for letter, value in {"%j": str(job.id), "%A": str(job.id), "%a": str(job.task or 0)}.items():
            output = output.replace(letter, value)
        with open(output, "ab") as log:
            child = subprocess.Popen(
                ["/bin/bash", str(folder / "script")],
                env=_environment(job, folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._children[job.row] = child
        self._cluster.update(job, pid=child.pid)

    def _supervise(self, job: Job) -> None:
        child = self._children.get(job.row)
        status = child.poll() if child else None
        if status is not None or not (child or (job.pid and any(_session(job.pid)))):
            _signal(job.pid, signal.SIGKILL)  # processes that the job left behind
            self._children.pop(job.row, None)
            self._record_end(job, status)
        elif job.requested_end:
            self._end_processes(job)
        else:
            self._check_time_limit(job)

    def _end_processes(self, job: Job) -> None:
        waited_s = time.time() - job.requested_at
        if job.requested_end in WITHOUT_GRACE or waited_s > self._cluster.get_number("kill_wait_s"):
            _signal(job.pid, signal.SIGKILL)
        elif job.row not in self._signalled:
            self._signalled.add(job.row)
            _signal(job.pid, signal.SIGTERM, steps_only=True)

    def _check_time_limit(self, job: Job) -> None:
        ran_s = time.time() - job.started
        if ran_s > 60 * job.minutes:
            self._cluster.update(job, state="COMPLETING", requested_end="limit", requested_at=time.time())
        elif job.warn_before_s and ran_s > 60 * job.minutes - job.warn_before_s and -job.row not in self._signalled:
            self._signalled.add(-job.row)
            _signal(job.pid, signal.SIGUSR2, steps_only=True)

    def _record_end(self, job: Job, status: int | None) -> None:
        self._signalled -= {job.row, -job.row}
        if job.requested_end in ("requeue", "again") or (job.requested_end in ("preempt", "fail") and job.requeue):
            eligible = time.time() + REQUEUE_DELAY_S
            restarts = job.restarts + (job.requested_end != "again")
            again = {"restarts": restarts, "eligible": eligible, "requested_end": "", "pid": 0}
            self._cluster.update(job, state=PENDING, reason="BeginTime", started=0, hosts="", **again)
        elif job.requested_end:
            self._cluster.end(job, FINAL_STATES[job.requested_end], "0:15")
        elif status is None:
            self._cluster.end(job, "NODE_FAIL")
        else:
            exit_code = f"0:{-status}" if status < 0 else f"{status}:0"
            self._cluster.end(job, "FAILED" if status else "COMPLETED", exit_code)


def _environment(job: Job, folder: Path) -> dict[str, str]:
    submitted_with: dict[str, str] = json.loads((folder / "environment").read_text())
    variables = {
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
        variables |= {"SLURM_ARRAY_JOB_ID": str(job.id), "SLURM_ARRAY_TASK_ID": str(job.task)}
    return submitted_with | variables


def _signal(leader: int, number: signal.Signals, *, steps_only: bool = False) -> None:
    """Signal the job's processes; with `steps_only` neither the script nor its srun, as Slurm does."""
    for pid in _session(leader):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if not steps_only or (pid != leader and b"/bin/srun\0" not in words):
                os.kill(pid, number)
        except (FileNotFoundError, ProcessLookupError):
            continue


def _session(leader: int) -> Iterator[int]:
    """Yield the living processes of the session with this leader."""
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
