"""Processes that show no name: in the moment of their start, for good, or by the hundred."""

import time
from collections.abc import Iterator

import psutil
import pytest

from contract.lifecycle.job_end import EndKind
from scheduler.clusters.cluster import Alive, JobHandle, JobRequest, gone
from scheduler.clusters.local import Local
from scheduler.clusters.local_processes import LOADING_S
from tests.testing.local_jobs import cluster_of_trees, status_of
from tests.testing.nameless import nameless_processes


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    with cluster_of_trees(monkeypatch) as cluster:
        yield cluster


def test_a_job_is_alive_while_the_kernel_loads_its_program(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the kernel shows neither environment nor command line, as during execve."""
    job_id, other = cluster.submit(local_job), Local()
    with monkeypatch.context() as patch:
        hide(patch, int(job_id.rpartition(":")[2]))
        assert status_of(other, job_id) == Alive()
        assert local_job.name not in other.find([local_job.name]), "it may be this job, so its name is not known yet"
    assert status_of(other, job_id) == Alive()
    assert other.find([local_job.name]) == {local_job.name: job_id}


def test_a_job_is_alive_if_its_command_line_appears_before_its_environment(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: the kernel loads the program between the two reads."""
    job_id, environ, reads = cluster.submit(local_job), psutil.Process.environ, [0]

    def late_environ(process: psutil.Process) -> dict[str, str]:
        reads[0] += 1
        return environ(process) if reads[0] > 1 else {}

    monkeypatch.setattr(psutil.Process, "environ", late_environ)
    assert status_of(Local(), job_id) == Alive()


def test_a_process_that_stays_without_a_name_is_no_job(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: another process, which has removed its environment, has the number of an ended job."""
    job_id, other = cluster.submit(local_job), Local()
    hide(monkeypatch, int(job_id.rpartition(":")[2]))
    assert status_of(other, job_id) == Alive()
    present = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: present + LOADING_S)
    assert status_of(other, job_id) == gone(EndKind.PROCESS_GONE)
    assert other.find([local_job.name]) == {local_job.name: None}
    assert other.cancel([JobHandle(job_id, local_job.name)], force=True) == []
    assert status_of(cluster, job_id) == Alive(), "the worker that started the job knows it as its child"
    assert cluster.cancel([JobHandle(job_id, local_job.name)], force=True) == [JobHandle(job_id, local_job.name)]


def test_two_hundred_processes_without_a_name_delay_no_report(cluster: Local, local_job: JobRequest) -> None:
    """Forces the fault: processes of this user have removed their arguments and environments from /proc."""
    job_id = cluster.submit(local_job)
    with nameless_processes(200):
        began = time.monotonic()
        reports = [cluster.report() for _ in range(3)]
        took_s = time.monotonic() - began
    assert job_id in {queued.job_id for queued in reports[-1].queue}
    assert took_s < 10, "one wait for each process took 0.2 s, so 120 s in all"


def hide(monkeypatch: pytest.MonkeyPatch, pid: int) -> None:
    """Let the process with this number show neither environment nor command line."""
    environ, cmdline = psutil.Process.environ, psutil.Process.cmdline
    monkeypatch.setattr(psutil.Process, "environ", lambda it: {} if it.pid == pid else environ(it))
    monkeypatch.setattr(psutil.Process, "cmdline", lambda it: [] if it.pid == pid else cmdline(it))
