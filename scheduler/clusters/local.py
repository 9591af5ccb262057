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

from contract.api.cluster_report import ClusterReport, Node, Partition, QueuedJob
from contract.folder.disk_errors import may_pass
from contract.folder.job_identity import MARK, host, local_job_id
from scheduler.clusters.cluster import (
    Alive,
    Answer,
    Array,
    FullError,
    Gone,
    Held,
    Job,
    Limits,
    RefusedError,
    Unknown,
    goes_with_a_job,
)

FULL_S = 10.0  # how long a machine that can start nothing is left alone
EXEC_LOOKS = 200
EXEC_NAP_S = 0.001


class Local:
    is_here = True

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._codes: dict[str, int] = {}  # exit codes of children that have ended
        self._full_until = 0.0

    def limits(self) -> Limits:
        return Limits(tasks=1)

    def may_submit(self, *, besides: int = 0) -> bool:
        return time.monotonic() >= self._full_until

    def submit(self, job: Job | Array) -> str:
        assert isinstance(job, Job), "this machine takes one job at a time"
        inherited = {name: value for name, value in os.environ.items() if goes_with_a_job(name)}
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
            words = f"the job could not be started: {error}"
            if not may_pass(error):
                raise RefusedError(words) from error
            # too many processes or files, no memory, a file server that is away
            self._full_until = time.monotonic() + FULL_S
            raise FullError(words) from error
        job_id = local_job_id(job.name, child.pid)
        self._children[job_id] = child
        return job_id

    def ask(self, jobs: Sequence[Held]) -> Mapping[Held, Answer]:
        self._bury()
        return {job: self._ask_one(job.id) for job in jobs}

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        alive = {known: local_job_id(known, leader.pid) for leader, known in _leaders()}
        return {name: alive.get(name) for name in names}

    def cancel(self, jobs: Sequence[Held], *, force: bool = False) -> Sequence[Held]:
        told = []
        for job in jobs:
            if any(_in_group(job.id)):
                with suppress(ProcessLookupError):
                    os.killpg(_pid(job.id), signal.SIGKILL if force else signal.SIGTERM)
                    told.append(job)
        return told

    def report(self, *, urgent: bool = False) -> ClusterReport:
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
                # several ticks may find its end at once, and none of them may find it in neither place
                self._codes[job_id] = code
                self._children.pop(job_id, None)

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
            if process.status() != psutil.STATUS_ZOMBIE and _mark(process) == name:
                return Alive()
        except psutil.Error:
            pass
        return Gone("the job's process has ended")


def _command(job: Job) -> list[str]:
    # -P: a folder called "trainers" where the service was started must not come before ours
    return [sys.executable, "-P", "-m", "trainers", str(job.folder.path), "--attempt", str(job.attempt)]


def _pid(job_id: str) -> int:
    return int(job_id.rpartition(":")[2])


def _mark(process: psutil.Process) -> str | None:
    """The name of the job that the process belongs to, None if it belongs to none.

    While the kernel replaces a process by a program (execve), it shows neither environment nor command line for a
    moment, and Popen has returned by then: such a process is looked at again.
    """
    for _ in range(EXEC_LOOKS):
        if environment := process.environ():
            return environment.get(MARK)
        if process.cmdline() or process.status() == psutil.STATUS_ZOMBIE:
            time.sleep(EXEC_NAP_S)  # the program may have come between the two looks, its environment last
            return process.environ().get(MARK)
        time.sleep(EXEC_NAP_S)
    return None


def _in_group(job_id: str) -> Iterator[psutil.Process]:
    """The living processes of the job's group, recognized by the mark that they inherited."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == _pid(job_id) and _mark(process) == job_id.rpartition("@")[0]:
                yield process
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue


def _leaders() -> Iterator[tuple[psutil.Process, str]]:
    """The first process of every job on this machine, and the job's name."""
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == process.pid and (name := _mark(process)):
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
