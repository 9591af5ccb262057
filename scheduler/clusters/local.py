"""A cluster of one machine: every job is a process group of its own.

Not submitit's local executor: seen from another process, a job of it that trains looks done, and SIGTERM does not
stop it. Not torchrun: its ranks start sessions of their own and outlive it.
"""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import psutil

from contract.cluster import ClusterReport, Node, Partition, QueuedJob
from scheduler.clusters.cluster import OURS, Alive, Answer, Gone, Job, RefusedError

MARK = "BIGBATCH_JOB"  # in the environment of every process of a job: its name


class Local:
    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def submit(self, job: Job) -> str:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        environment = {**inherited, MARK: job.name, "PYTHONUNBUFFERED": "1"}
        try:
            with job.folder.log.open("ab") as log:
                child = subprocess.Popen(
                    _command(job),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    process_group=0,
                )
        except OSError as error:
            raise RefusedError(f"the job could not be started: {error}") from error
        job_id = _identity(psutil.Process(child.pid))
        self._children[job_id] = child
        return job_id

    def ask(self, job_ids: Sequence[str]) -> Mapping[str, Answer]:
        return {job_id: self._ask_one(job_id) for job_id in job_ids}

    def find(self, job: Job) -> str | None:
        return next((_identity(leader) for leader, name in _leaders() if name == job.name), None)

    def cancel(self, job_ids: Sequence[str], *, force: bool = False) -> None:
        for job_id in job_ids:
            if any(_in_group(job_id)):
                os.killpg(_pid(job_id), signal.SIGKILL if force else signal.SIGTERM)

    def report(self) -> ClusterReport:
        host, cpus = socket.gethostname(), psutil.cpu_count() or 1
        jobs = [_queued(leader, name, host) for leader, name in _leaders()]
        state = "allocated" if jobs else "idle"
        busy = min(cpus, round(psutil.getloadavg()[0]))
        memory_mb = psutil.virtual_memory().total // 2**20
        node = Node(
            name=host,
            state=state,
            partitions=["local"],
            cpus=cpus,
            busy_cpus=busy,
            memory_mb=memory_mb,
            gres="",
            features=[],
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
        return ClusterReport(partitions=[partition], nodes=[node], queue=jobs)

    def script(self, job: Job) -> str:
        return shlex.join(_command(job))

    def _ask_one(self, job_id: str) -> Answer:
        child = self._children.get(job_id)
        code = child.poll() if child else None  # buries it, too
        if code is not None:
            del self._children[job_id]
            return Gone(f"the job was ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}")
        try:
            process = psutil.Process(_pid(job_id))
            if _identity(process) == job_id and process.status() != psutil.STATUS_ZOMBIE:
                return Alive()
        except psutil.NoSuchProcess:
            pass
        return Gone("the job's process has ended")


def _command(job: Job) -> list[str]:
    # -P: a folder called "trainers" where the service was started must not come before ours
    return [sys.executable, "-P", "-m", "trainers", str(job.folder.path), "--attempt", str(job.attempt)]


def _identity(process: psutil.Process) -> str:
    """Pid and start: the system hands out pids again."""
    return f"{process.pid}@{process.create_time():.2f}"


def _pid(job_id: str) -> int:
    return int(job_id.split("@")[0])


def _in_group(job_id: str) -> Iterator[psutil.Process]:
    """The living processes of the job's group, recognized by the mark that they inherited."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == _pid(job_id) and MARK in process.environ():
                yield process
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue


def _leaders() -> Iterator[tuple[psutil.Process, str]]:
    """The first process of every job on this machine, and the job's name."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == process.pid and (name := process.environ().get(MARK)):
                yield process, name
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue


def _queued(leader: psutil.Process, name: str, host: str) -> QueuedJob:
    seconds = int(time.time() - leader.create_time())
    return QueuedJob(
        job_id=_identity(leader),
        name=name,
        user=leader.username(),
        partition="local",
        state="RUNNING",
        nodes=1,
        elapsed=f"{seconds // 60}:{seconds % 60:02}",
        reason=host,
    )
