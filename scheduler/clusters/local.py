"""A cluster of one machine: every job is a process group of its own.

Not submitit's local executor: seen from another process, a job of it that trains looks done, and SIGTERM does not
stop it. Not torchrun: its ranks start sessions of their own and outlive it.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import psutil

from contract.cluster import ClusterReport, Node, Partition, QueuedJob
from contract.job import MARK, host, local_job_id
from scheduler.clusters.cluster import OURS, Alive, Answer, Array, Gone, Held, Job, Limits, RefusedError, Unknown


class Local:
    is_here = True

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._codes: dict[str, int] = {}  # exit codes of children that have ended

    def limits(self) -> Limits:
        return Limits(tasks=1)

    def may_submit(self) -> bool:
        return True

    def looks_left(self) -> None:
        return None

    def submit(self, job: Job | Array) -> str:
        assert isinstance(job, Job), "this machine takes one job at a time"
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
        job_id = local_job_id(job.name, child.pid)
        self._children[job_id] = child
        return job_id

    def ask(self, jobs: Sequence[Held]) -> Mapping[str, Answer]:
        self._bury()
        return {job.id: self._ask_one(job.id) for job in jobs}

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        alive = {known: local_job_id(known, leader.pid) for leader, known in _leaders()}
        return {name: alive.get(name) for name in names}

    def cancel(self, jobs: Sequence[Held], *, force: bool = False) -> None:
        for job in jobs:
            if any(_in_group(job.id)):
                with suppress(ProcessLookupError):
                    os.killpg(_pid(job.id), signal.SIGKILL if force else signal.SIGTERM)

    def report(self) -> ClusterReport:
        self._bury()
        cpus = psutil.cpu_count() or 1
        jobs = [queued for leader, name in _leaders() if (queued := _queued(leader, name))]
        node = Node(
            name=host(),
            state="allocated" if jobs else "idle",
            partitions=["local"],
            cpus=cpus,
            busy_cpus=min(cpus, round(psutil.getloadavg()[0])),
            memory_mb=psutil.virtual_memory().total // 2**20,
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

    def script(self, job: Job | Array) -> str:
        assert isinstance(job, Job), "this machine takes one job at a time"
        return shlex.join(_command(job))

    def _bury(self) -> None:
        """Ask all children how they ended: one that is never asked stays a zombie."""
        for job_id, child in list(self._children.items()):
            if (code := child.poll()) is not None:
                del self._children[job_id]
                self._codes[job_id] = code

    def _ask_one(self, job_id: str) -> Answer:
        if job_id in self._children:
            return Alive()
        if job_id in self._codes:
            code = self._codes[job_id]
            return Gone(f"the job was ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}")
        name, _, place = job_id.rpartition("@")
        if place.rpartition(":")[0] != host():
            return Unknown(f"the job is on {place.rpartition(':')[0]}, this worker on {host()}")
        try:
            process = psutil.Process(_pid(job_id))
            # by its mark and not by its start: a clock that is set moves the start of every process
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == name:
                return Alive()
        except psutil.Error:
            pass
        return Gone("the job's process has ended")


def _command(job: Job) -> list[str]:
    # -P: a folder called "trainers" where the service was started must not come before ours
    return [sys.executable, "-P", "-m", "trainers", str(job.folder.path), "--attempt", str(job.attempt)]


def _pid(job_id: str) -> int:
    return int(job_id.rpartition(":")[2])


def _in_group(job_id: str) -> Iterator[psutil.Process]:
    """The living processes of the job's group, recognized by the mark that they inherited."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == _pid(job_id) and process.environ().get(MARK) == job_id.rpartition("@")[0]:
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


def _queued(leader: psutil.Process, name: str) -> QueuedJob | None:
    try:
        seconds, user = int(time.time() - leader.create_time()), leader.username()
    except psutil.Error:  # it ended a moment ago
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
