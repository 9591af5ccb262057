"""Local: the cluster of one machine, where every job is a process group.

submitit's local executor does not serve here: another process sees its running jobs as done, and SIGTERM does not stop
them. Neither does torchrun: its ranks start sessions of their own and outlive torchrun.
"""

import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import psutil

from contract.api.cluster_report import ClusterReport, Node, Partition, QueuedJob
from contract.folder.files.disk_errors import is_transient
from contract.folder.job_identity import JOB_NAME_VARIABLE, host, is_manual_job, local_job_id
from contract.lifecycle.job_end import EndKind
from scheduler.clusters.cluster import (
    Alive,
    ArrayRequest,
    Gone,
    JobHandle,
    JobRequest,
    JobStatus,
    Limits,
    QueueFullError,
    RefusedError,
    Unknown,
    gone,
    is_passed_to_jobs,
)
from scheduler.clusters.local_processes import JobProcesses, Seen
from scheduler.submit.tools import agent_folder
from store.clock import now

SEEN_S = 3.0  # a child that was seen to live so lately has ended now
QUEUE_FULL_S = 10.0  # without submissions after the machine could start no process
PID = re.compile(r"[1-9][0-9]{0,8}")


class Local:
    """The cluster of this machine; all processes that use this class here see the same jobs."""

    is_local = True

    def __init__(self, ranks: int | None = None) -> None:
        """`ranks` is the number of ranks that may run at once, which the report shows."""
        self._ranks = ranks
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: dict[str, Gone] = {}  # children that have ended
        self._looked_at = -math.inf  # by a clock that nobody sets
        self._processes = JobProcesses()
        self._queue_full_until = 0.0

    def limits(self) -> Limits:
        return Limits(tasks=1)

    def may_submit(self, *, single: bool = False, besides: int = 0) -> bool:
        return time.monotonic() >= self._queue_full_until

    def submit(self, job: JobRequest | ArrayRequest) -> str:
        assert isinstance(job, JobRequest), "a local cluster has no arrays"
        passed = {name: value for name, value in os.environ.items() if is_passed_to_jobs(name)}
        inherited = {name: value for name, value in passed.items() if not is_of_outer_job(name)}
        environment = {**inherited, JOB_NAME_VARIABLE: job.name, "PYTHONUNBUFFERED": "1"}
        try:
            with job.folder.open_log_for_append() as log:
                child = subprocess.Popen(
                    _command(job),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    process_group=0,
                )
        except OSError as error:
            message = f"the job could not be started: {error}"
            if not is_transient(error):
                raise RefusedError(message) from error
            # too many processes or open files, no memory, or an unreachable file server
            self._queue_full_until = time.monotonic() + QUEUE_FULL_S
            raise QueueFullError(message) from error
        job_id = local_job_id(job.name, child.pid)
        self._children[job_id] = child
        return job_id

    def status(self, jobs: Sequence[JobHandle]) -> Mapping[JobHandle, JobStatus]:
        self._reap_children()
        return {job: self._job_status(job.id) for job in jobs}

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        leaders = [(leader, name) for leader, name in self._processes.leaders() if name is not Seen.NO_JOB]
        alive = {name: local_job_id(name, leader.pid) for leader, name in leaders if isinstance(name, str)}
        is_all_known = all(isinstance(name, str) for _, name in leaders)
        return {name: alive.get(name) for name in names if is_all_known or name in alive}

    def cancel(self, jobs: Sequence[JobHandle], *, force: bool = False) -> Sequence[JobHandle]:
        signaled = []
        for job in jobs:
            pid = _pid(job.id)
            if is_manual_job(job.id):  # its group may be a shell's; it passes the signal to its ranks
                if pid is not None and self._is_alive(job.id, pid):
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL if force else signal.SIGTERM)
                        signaled.append(job)
            elif pid is not None and self._has_group(job, pid):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL if force else signal.SIGTERM)
                    signaled.append(job)
        return signaled

    def report(self, *, urgent: bool = False) -> ClusterReport:
        self._reap_children()
        cpus = psutil.cpu_count() or 1
        named = [(leader, name) for leader, name in self._processes.leaders() if isinstance(name, str)]
        jobs = [queued for leader, name in named if (queued := _queued_job(leader, name))]
        node = Node(
            name=host(),
            state="allocated" if jobs else "idle",
            partitions=["local"],
            cpus=cpus,
            busy_cpus=min(cpus, round(psutil.getloadavg()[0])),
            memory_mb=psutil.virtual_memory().total // 2**20,
            gres="",
            features=[],
            jobs=[job.job_id for job in jobs],
        )
        partition = Partition(
            name="local",
            is_default=True,
            state="up",
            nodes=1,
            idle_nodes=int(not jobs),
            cpus=cpus,
            time_limit="none",
            gres="",
        )
        return ClusterReport(partitions=[partition], nodes=[node], queue=jobs, ranks=self._ranks)

    def script(self, job: JobRequest | ArrayRequest) -> str:
        assert isinstance(job, JobRequest), "a local cluster has no arrays"
        return shlex.join(_command(job))

    def _reap_children(self) -> None:
        """Collect the exit codes of all children: without that, an ended child stays a zombie."""
        present = time.monotonic()
        at = now() if present - self._looked_at < SEEN_S else None  # this worker may have been stopped meanwhile
        self._looked_at = present
        for job_id, child in list(self._children.items()):
            if (code := child.poll()) is not None:
                # several threads may do this at once, and each must find the job in one of the two dictionaries
                self._ended[job_id] = _ended(code, at)
                self._children.pop(job_id, None)

    def _job_status(self, job_id: str) -> JobStatus:
        if job_id in self._children:
            return Alive()
        if job_id in self._ended:
            return self._ended[job_id]
        job_host = job_id.rpartition("@")[2].rpartition(":")[0]
        if job_host != host():
            return Unknown(f"the job is on {job_host}, this worker on {host()}")
        pid = _pid(job_id)
        return Alive() if pid is not None and self._is_alive(job_id, pid) else gone(EndKind.PROCESS_GONE)

    def _is_alive(self, job_id: str, pid: int) -> bool:
        """Return whether the first process of a job lives, and is not another process with its number."""
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            # compare names, not start times: setting the clock changes the start time of every process
            name = self._processes.name_of(process)
            if is_manual_job(job_id):
                return name is Seen.NO_JOB and any("trainers" in word or "agent" in word for word in process.cmdline())
            return name in (job_id.rpartition("@")[0], Seen.LOADING)
        except psutil.Error:
            return False

    def _has_group(self, job: JobHandle, pid: int) -> bool:
        """Return whether a process of the job's group lives; all of them inherited the job's name."""
        child = self._children.get(job.id)
        if child and child.poll() is None:
            return True
        return any(group == pid and name == job.name for _, group, name in self._processes.groups())


def _ended(code: int, at: datetime | None) -> Gone:
    """Return the end of a first process; `code` is its exit code, or minus the number of its signal."""
    is_signal = code < 0
    end = gone(EndKind.SIGNALED, signal.Signals(-code).name) if is_signal else gone(EndKind.EXITED, exit_code=code)
    return end._replace(end=end.end.model_copy(update={"at": at}))


def _command(job: JobRequest) -> list[str]:
    if job.spec.needs_tools:
        agent = agent_folder(job.folder.path.parent)
        return [sys.executable, "-I", "-S", "-u", str(agent), str(job.folder.path), "--attempt", str(job.attempt)]
    # -P: a folder called "trainers" in the current directory must not hide the package
    return [sys.executable, "-P", "-m", "trainers", str(job.folder.path), "--attempt", str(job.attempt)]


def _pid(job_id: str) -> int | None:
    """Return the process id in a job's id; None without one: the id may come from a claim that a job wrote."""
    digits = job_id.rpartition(":")[2]
    return int(digits) if PID.fullmatch(digits) else None


def _queued_job(leader: psutil.Process, name: str) -> QueuedJob | None:
    try:
        # read anew: an object that psutil keeps has the start by the clock as it was before somebody set it
        begun, user = psutil.Process(leader.pid).create_time(), leader.username()
    except psutil.Error:  # the process ended a moment ago
        return None
    seconds = max(0, int(time.time() - begun))
    return QueuedJob(
        job_id=local_job_id(name, leader.pid),
        name=name,
        user=user,
        partition="local",
        state="RUNNING",
        nodes=1,
        elapsed=f"{seconds // 60}:{seconds % 60:02}",
        reason=host(),
    )


# A service may be started on a node that Slurm has allocated. A local run is no part of that job. Libraries such as
# Lightning, Open MPI and torch read ranks and hosts from these variables, and would find those of the outer job.
OF_A_JOB = ("SLURM_", "SLURMD_", "PMI_", "PMIX_", "OMPI_", "PRTE_")
OF_A_USER = ("SLURM_CONF", "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_")  # connections and settings, which hold everywhere


def is_of_outer_job(variable: str) -> bool:
    """Return whether Slurm or MPI set a variable for one job, by the beginning of its name."""
    return variable.startswith(OF_A_JOB) and not variable.startswith(OF_A_USER)
