"""Local: the cluster of one machine, where every job is a process group.

submitit's local executor does not serve here: another process sees its running jobs as done, and SIGTERM does not stop
them. Neither does torchrun: its ranks start sessions of their own and outlive torchrun.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

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
from scheduler.clusters.outer_job import is_of_outer_job
from scheduler.submit.tools import agent_folder

QUEUE_FULL_S = 10.0  # without submissions after the machine could start no process
PID = re.compile(r"[1-9][0-9]{0,8}")
EXECVE_TRIES = 200
EXECVE_WAIT_S = 0.001


class Local:
    """The cluster of this machine; all processes that use this class here see the same jobs."""

    is_local = True

    def __init__(self, ranks: int | None = None) -> None:
        """`ranks` is the number of ranks that may run at once, which the report shows."""
        self._ranks = ranks
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._exit_codes: dict[str, int] = {}  # of children that have ended; negative: the signal
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
        alive = {job_name: local_job_id(job_name, leader.pid) for leader, job_name in _group_leaders()}
        return {name: alive.get(name) for name in names}

    def cancel(self, jobs: Sequence[JobHandle], *, force: bool = False) -> Sequence[JobHandle]:
        signaled = []
        for job in jobs:
            pid = _pid(job.id)
            if is_manual_job(job.id):  # its group may be a shell's; it passes the signal to its ranks
                if pid is not None and _is_alive(job.id, pid):
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL if force else signal.SIGTERM)
                        signaled.append(job)
            elif pid is not None and any(_group_members(job.id)):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL if force else signal.SIGTERM)
                    signaled.append(job)
        return signaled

    def report(self, *, urgent: bool = False) -> ClusterReport:
        self._reap_children()
        cpus = psutil.cpu_count() or 1
        jobs = [queued for leader, name in _group_leaders() if (queued := _queued_job(leader, name))]
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
        for job_id, child in list(self._children.items()):
            if (code := child.poll()) is not None:
                # several threads may do this at once, and each must find the job in one of the two dictionaries
                self._exit_codes[job_id] = code
                self._children.pop(job_id, None)

    def _job_status(self, job_id: str) -> JobStatus:
        if job_id in self._children:
            return Alive()
        if job_id in self._exit_codes:
            return _ended(self._exit_codes[job_id])
        job_host = job_id.rpartition("@")[2].rpartition(":")[0]
        if job_host != host():
            return Unknown(f"the job is on {job_host}, this worker on {host()}")
        pid = _pid(job_id)
        return Alive() if pid is not None and _is_alive(job_id, pid) else gone(EndKind.PROCESS_GONE)


def _is_alive(job_id: str, pid: int) -> bool:
    """Return whether the first process of a job lives, and is not another process with its number."""
    name = job_id.rpartition("@")[0]
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        # compare names, not start times: setting the clock changes the start time of every process
        if not is_manual_job(job_id):
            return _job_name(process) == name
        return _job_name(process) is None and any("trainers" in word or "agent" in word for word in process.cmdline())
    except psutil.Error:
        return False


def _ended(code: int) -> Gone:
    """Return the end of a first process; `code` is its exit code, or minus the number of its signal."""
    if code < 0:
        return gone(EndKind.SIGNALED, signal.Signals(-code).name)
    return gone(EndKind.EXITED, exit_code=code)


def _command(job: JobRequest) -> list[str]:
    if job.spec.kind == "program":
        agent = agent_folder(job.folder.path.parent)
        return [sys.executable, "-I", "-S", "-u", str(agent), str(job.folder.path), "--attempt", str(job.attempt)]
    # -P: a folder called "trainers" in the current directory must not hide the package
    return [sys.executable, "-P", "-m", "trainers", str(job.folder.path), "--attempt", str(job.attempt)]


def _pid(job_id: str) -> int | None:
    """Return the process id in a job's id; None without one: the id may come from a claim that a job wrote."""
    digits = job_id.rpartition(":")[2]
    return int(digits) if PID.fullmatch(digits) else None


def _job_name(process: psutil.Process) -> str | None:
    """Return the name of the job that the process belongs to, or None if the process belongs to no job.

    While the kernel replaces a process's program (execve), the process shows neither environment nor command line for
    a moment, and Popen has returned by then: the function tries again.
    """
    for _ in range(EXECVE_TRIES):
        if environment := process.environ():
            return environment.get(JOB_NAME_VARIABLE)
        if process.cmdline() or process.status() == psutil.STATUS_ZOMBIE:
            time.sleep(EXECVE_WAIT_S)  # the program may have been loaded between the two calls, its environment last
            return process.environ().get(JOB_NAME_VARIABLE)
        time.sleep(EXECVE_WAIT_S)
    return None


def _group_members(job_id: str) -> Iterator[psutil.Process]:
    """Yield the living processes of the job's group; all of them inherited the job's name."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == _pid(job_id) and _job_name(process) == job_id.rpartition("@")[0]:
                yield process
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue


def _group_leaders() -> Iterator[tuple[psutil.Process, str]]:
    """Yield the first process of every job on this machine, and the job's name."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == process.pid and (name := _job_name(process)):
                yield process, name
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue


def _queued_job(leader: psutil.Process, name: str) -> QueuedJob | None:
    try:
        seconds, user = int(time.time() - leader.create_time()), leader.username()
    except psutil.Error:  # the process ended a moment ago
        return None
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
