"""Jobs of the local cluster: real processes, which any service on the host finds and can end as a whole."""

import errno
import os
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from contract.folder.job_identity import local_job_id
from contract.lifecycle.job_end import EndKind
from scheduler.clusters import local
from scheduler.clusters.cluster import (
    Alive,
    Gone,
    JobHandle,
    JobRequest,
    JobStatus,
    QueueFullError,
    RefusedError,
    Unknown,
    gone,
)
from scheduler.clusters.local import Local
from tests.testing.local_jobs import NAME, TREE, cluster_of_trees, job_processes, run_code, status_of, wait_for_end
from tests.testing.servers import wait_for


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    with cluster_of_trees(monkeypatch) as cluster:
        yield cluster


def timeless(status: JobStatus) -> JobStatus:
    """Return the status without the moment of an end."""
    return status._replace(end=status.end.model_copy(update={"at": None})) if isinstance(status, Gone) else status


def test_another_process_sees_the_job_and_finds_it_by_name(cluster: Local, local_job: JobRequest) -> None:
    job_id = cluster.submit(local_job)
    other = Local()  # has not started the job, as a worker after a restart
    assert status_of(other, job_id) == Alive()
    assert other.find([local_job.name]) == {local_job.name: job_id}
    assert [queued.job_id for queued in other.report().queue if queued.name == NAME] == [job_id]


def test_cancel_ends_every_process_of_the_job(cluster: Local, local_job: JobRequest) -> None:
    job_id = cluster.submit(local_job)
    wait_for("both processes", lambda: "ready" in local_job.folder.log.read_text())
    assert len(job_processes()) == 2
    cluster.cancel([JobHandle(job_id, local_job.name)])
    # an ending process loses its environment some time before its exit code is there: the job counts as alive
    assert timeless(wait_for_end(cluster, job_id)) == gone(EndKind.SIGNALED, "SIGTERM")
    wait_for("the end of the second process", lambda: not job_processes())
    assert cluster.find([local_job.name]) == {local_job.name: None}
    assert cluster.cancel([JobHandle(job_id, local_job.name)]) == []


def test_force_ends_a_process_that_ignores_sigterm(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the second process ignores SIGTERM and outlives the job's first process."""
    run_code(monkeypatch, TREE.format(mode="IGN"))
    job_id = cluster.submit(local_job)
    wait_for("both processes", lambda: "ready" in local_job.folder.log.read_text())
    cluster.cancel([JobHandle(job_id, local_job.name)])
    wait_for("the first process's end", lambda: len(job_processes()) == 1)
    cluster.cancel([JobHandle(job_id, local_job.name)], force=True)
    wait_for("the end of all processes", lambda: not job_processes())


def test_a_process_that_reuses_the_pid_of_an_ended_job_is_not_the_job_and_gets_no_signal(cluster: Local) -> None:
    """Forces the fault: the pid in a job's id belongs to the process of this test."""
    stale = local_job_id(NAME, os.getpid())
    assert status_of(cluster, stale) == gone(EndKind.PROCESS_GONE)
    assert cluster.cancel([JobHandle(stale, NAME)], force=True) == []


def test_the_status_of_another_hosts_job_is_unknown(cluster: Local) -> None:
    assert isinstance(status_of(cluster, f"{NAME}@elsewhere:{os.getpid()}"), Unknown)


def test_a_change_of_the_clock_ends_no_job(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the machine's clock jumps by an hour, and with it the start time of every process."""
    job_id = cluster.submit(local_job)
    create_time = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: create_time(process) + 3600)
    assert status_of(cluster, job_id) == status_of(Local(), job_id) == Alive()


def test_two_threads_that_see_the_end_at_once_both_get_the_exit_code(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: between one thread's poll of the process and its storing the exit code, the other does both."""
    run_code(monkeypatch, "import sys; sys.exit(3)")
    job_id, statuses = cluster.submit(local_job), list[JobStatus]()
    poll = subprocess.Popen.poll

    def overtaken(child: "subprocess.Popen[bytes]") -> int | None:
        monkeypatch.setattr(subprocess.Popen, "poll", poll)
        child.wait()
        statuses.append(status_of(cluster, job_id))
        return poll(child)

    monkeypatch.setattr(subprocess.Popen, "poll", overtaken)
    statuses.append(status_of(cluster, job_id))
    assert [timeless(status) for status in statuses] == [gone(EndKind.EXITED, exit_code=3)] * 2


def test_an_ended_job_without_a_query_for_its_status_leaves_no_zombie(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler no longer queries a run that reported its end before its process had ended."""
    run_code(monkeypatch, "")
    pid = int(cluster.submit(local_job).rpartition(":")[2])
    wait_for("the job's end", lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    cluster.status([])
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("sys.exit(0)", gone(EndKind.EXITED, exit_code=0)),
        ("sys.exit(3)", gone(EndKind.EXITED, exit_code=3)),
        ("os.kill(os.getpid(), 9)", gone(EndKind.SIGNALED, "SIGKILL")),
    ],
)
def test_the_end_of_a_job_has_its_exit_code_or_signal(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch, code: str, end: Gone
) -> None:
    run_code(monkeypatch, f"import os, sys; {code}")
    job_id = cluster.submit(local_job)
    first = wait_for_end(cluster, job_id)
    assert timeless(first) == end
    assert status_of(cluster, job_id) == first, "also for a second query"


def test_a_worker_that_looks_late_does_not_know_when_a_job_ended(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the worker's process was stopped while the job ended."""
    run_code(monkeypatch, "")
    for late_s, is_known in ((0.5, True), (60.0, False)):
        cluster.status([])
        child = psutil.Process(int((job_id := cluster.submit(local_job)).rpartition(":")[2]))
        wait_for("the job's end", lambda child=child: child.status() == psutil.STATUS_ZOMBIE)
        cluster._looked_at -= late_s
        status = status_of(cluster, job_id)
        assert isinstance(status, Gone)
        assert (status.end.at is not None) is is_known


def test_a_job_gets_no_secret_of_the_service(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BIGBATCH_TOKEN", "BIGBATCH_DATABASE", "bigbatch_broker", "BIGBATCH_LATER", "SLURM_JWT"):
        monkeypatch.setenv(name, "5ecret")
    monkeypatch.setenv("BIGBATCH_CACHE", "/scratch")
    users = {
        "LD_LIBRARY_PATH": "/opt/lib",
        "CONDA_PREFIX": "/opt/conda",
        "OMP_NUM_THREADS": "1",
        "LOADEDMODULES": "gcc",
    }
    for name, value in users.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(local, "_command", lambda job: ["env"])
    wait_for_end(cluster, cluster.submit(local_job))
    environment = local_job.folder.log.read_text()
    assert "5ecret" not in environment
    assert f"BIGBATCH_JOB={NAME}" in environment
    assert "BIGBATCH_CACHE=/scratch" in environment, "the ranks read this variable"
    assert {f"{name}={value}" for name, value in users.items()} <= {*environment.splitlines()}


def test_a_job_gets_no_variable_of_the_job_in_which_the_service_runs(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_outer_job = ("SLURM_JOB_ID", "SLURM_PROCID", "SLURMD_NODENAME", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
    of_user = ("SLURM_CONF", "OMPI_MCA_btl", "CUDA_VISIBLE_DEVICES", "SLURMISH")
    for name in (*of_outer_job, *of_user):
        monkeypatch.setenv(name, "7")
    monkeypatch.setattr(local, "_command", lambda job: ["env"])
    wait_for_end(cluster, cluster.submit(local_job))
    names = {line.partition("=")[0] for line in local_job.folder.log.read_text().splitlines()}
    assert names.isdisjoint(of_outer_job)
    assert names.issuperset(of_user)


def test_a_log_that_cannot_be_opened_is_a_refusal(cluster: Local, local_job: JobRequest) -> None:
    """Forces the fault: a folder has the name of the log."""
    local_job.folder.log.unlink(missing_ok=True)
    local_job.folder.log.mkdir()
    with pytest.raises(RefusedError, match=r"could not be started.*out\.log") as refusal:
        cluster.submit(local_job)
    assert not isinstance(refusal.value, QueueFullError), "another submission would fail as well"


def test_a_machine_that_can_start_no_process_is_full(
    cluster: Local, local_job: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: fork fails, as on a machine with too many processes or too little memory."""

    def fork(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", fork)
    assert cluster.may_submit()
    with pytest.raises(QueueFullError, match="could not be started"):
        cluster.submit(local_job)
    assert not cluster.may_submit(), "the queued runs wait until the machine may start processes again"
