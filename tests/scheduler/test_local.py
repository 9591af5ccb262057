"""Jobs on this machine: real processes, found again, ended whole."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import psutil
import pytest

from contract.folder.job_identity import MARK, local_job_id
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from scheduler.clusters import local
from scheduler.clusters.cluster import Alive, FullError, Gone, Held, Job, Unknown
from scheduler.clusters.local import Local
from tests.conftest import Experiment
from tests.testing.servers import wait_for

NAME = f"bigbatch-{token_hex(4)}-1"  # of these tests alone, whatever else goes on on this machine
# a job of two processes; the second one does not listen to SIGTERM when told to
TREE = """
import signal, subprocess, sys, time
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_{mode}); print('up', flush=True); time.sleep(60)"
inner = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE)
inner.stdout.readline()
print("ready", flush=True)
inner.wait()
"""


@pytest.fixture
def job(tmp_path: Path, experiment: Experiment) -> Job:
    spec: RunSpec = experiment().base
    folder = RunFolder.of(tmp_path, 1, "cafe")
    folder.prepare(spec)
    return Job(NAME, folder, 1, spec)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    """A cluster whose jobs are the small tree above; nothing of them is left afterwards."""
    monkeypatch.setattr(local, "_command", lambda job: [sys.executable, "-c", TREE.format(mode="DFL")])
    yield Local()
    wait_for("the end of all that is left", end_all)


def end_all() -> bool:
    """Kill what lives of the job; whether nothing does: what one of them made meanwhile is found the next time."""
    found = marked()
    for process in found:
        with suppress(psutil.NoSuchProcess):  # it ends by itself when nobody reads what it says any more
            process.kill()
    return not found


def marked() -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == NAME and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_job_lives_and_is_found_by_name_from_another_process(cluster: Local, job: Job) -> None:
    job_id = cluster.submit(job)
    other = Local()  # knows nothing of what the first one started, as a worker that came up after a crash
    assert (other.ask([Held(job_id, "")])[Held(job_id, "")], other.find([job.name])) == (Alive(), {job.name: job_id})
    assert [queued.job_id for queued in other.report().queue if queued.name == NAME] == [job_id]


def test_cancelling_ends_every_process_of_the_job(cluster: Local, job: Job) -> None:
    job_id = cluster.submit(job)
    wait_for("both processes", lambda: "ready" in job.folder.log.read_text())
    assert len(marked()) == 2
    cluster.cancel([Held(job_id, job.name)])
    answers: list[object] = []  # a process on its way out no longer shows its mark, some time before it can be buried
    wait_for(
        "the end", lambda: answers.append(cluster.ask([Held(job_id, "")])[Held(job_id, "")]) or answers[-1] != Alive()
    )
    assert answers[-1] == Gone("the job was ended by SIGTERM")
    wait_for("the end of the others", lambda: not marked())
    assert cluster.find([job.name]) == {job.name: None}
    cluster.cancel([Held(job_id, job.name)])


def test_force_ends_what_does_not_listen(cluster: Local, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: a process of the job ignores SIGTERM and outlives the job's first process."""
    monkeypatch.setattr(local, "_command", lambda job: [sys.executable, "-c", TREE.format(mode="IGN")])
    job_id = cluster.submit(job)
    wait_for("both processes", lambda: "ready" in job.folder.log.read_text())
    cluster.cancel([Held(job_id, job.name)])
    wait_for("the first process's end", lambda: len(marked()) == 1)
    cluster.cancel([Held(job_id, job.name)], force=True)
    wait_for("the end", lambda: not marked())


def test_a_process_that_got_the_pid_of_a_dead_job_is_not_the_job_and_is_left_alone(cluster: Local) -> None:
    """Forces the fault: a job's id names a pid that now belongs to this very test."""
    stale = local_job_id(NAME, os.getpid())
    assert isinstance(cluster.ask([Held(stale, "")])[Held(stale, "")], Gone)
    cluster.cancel([Held(stale, "")], force=True)


def test_a_job_of_another_machine_is_not_dead_because_it_is_not_here(cluster: Local) -> None:
    elsewhere = f"{NAME}@elsewhere:{os.getpid()}"
    assert isinstance(cluster.ask([Held(elsewhere, "")])[Held(elsewhere, "")], Unknown)


def test_a_clock_that_is_set_kills_no_job(cluster: Local, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: the machine's clock jumps by an hour, and with it the start of every process."""
    job_id = cluster.submit(job)
    create_time = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: create_time(process) + 3600)
    assert (cluster.ask([Held(job_id, "")])[Held(job_id, "")], Local().ask([Held(job_id, "")])[Held(job_id, "")]) == (
        Alive(),
        Alive(),
    )


@pytest.mark.parametrize("whole_after", [3, 2], ids=["seen whole at once", "loaded between two looks"])
def test_a_job_whose_program_is_just_being_loaded_is_alive(
    cluster: Local, job: Job, monkeypatch: pytest.MonkeyPatch, whole_after: int
) -> None:
    """Forces the fault: the kernel shows no environment and no command line yet, as in the midst of execve."""
    job_id = cluster.submit(job)
    environ, cmdline, looks = psutil.Process.environ, psutil.Process.cmdline, [0]

    def shown_late(process: psutil.Process) -> dict[str, str]:
        looks[0] += process.pid == int(job_id.rpartition(":")[2])
        return environ(process) if looks[0] > 3 else {}

    monkeypatch.setattr(psutil.Process, "environ", shown_late)
    monkeypatch.setattr(psutil.Process, "cmdline", lambda process: cmdline(process) if looks[0] > whole_after else [])
    assert Local().ask([Held(job_id, "")])[Held(job_id, "")] == Alive()
    assert looks[0] > 3


def test_two_ticks_that_find_a_job_s_end_at_once_both_tell_how_it_ended(
    cluster: Local, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: between the one's look at the process and its writing that down, the other does both."""
    monkeypatch.setattr(local, "_command", lambda job: [sys.executable, "-c", "import sys; sys.exit(3)"])
    held, answers = Held(cluster.submit(job), ""), []
    poll = subprocess.Popen.poll

    def overtaken(child: "subprocess.Popen[bytes]") -> int | None:
        monkeypatch.setattr(subprocess.Popen, "poll", poll)
        child.wait()
        answers.append(cluster.ask([held])[held])
        return poll(child)

    monkeypatch.setattr(subprocess.Popen, "poll", overtaken)
    answers.append(cluster.ask([held])[held])
    assert answers == [Gone("exit code 3")] * 2


def test_a_job_that_nobody_asks_about_any_more_is_buried(
    cluster: Local, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that said it was done before its process had ended is never asked about again."""
    monkeypatch.setattr(local, "_command", lambda job: [sys.executable, "-c", ""])
    pid = int(cluster.submit(job).rpartition(":")[2])
    wait_for("its end", lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    cluster.ask([])
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize(
    ("code", "reason"),
    [("sys.exit(3)", "exit code 3"), ("os.kill(os.getpid(), 9)", "the job was ended by SIGKILL")],
)
def test_how_a_job_ended_is_told(
    cluster: Local, job: Job, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    monkeypatch.setattr(local, "_command", lambda job: [sys.executable, "-c", f"import os, sys; {code}"])
    job_id, answers = cluster.submit(job), []
    wait_for(
        "its end",
        lambda: bool(answers.append(cluster.ask([Held(job_id, "")])[Held(job_id, "")])) or answers[-1] != Alive(),
    )
    assert answers[-1] == Gone(reason)
    assert isinstance(cluster.ask([Held(job_id, "")])[Held(job_id, "")], Gone), "also when asked again"


def test_no_secret_of_the_service_goes_with_a_job(cluster: Local, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGBATCH_TOKEN", "tok-5ecret")
    monkeypatch.setenv("BIGBATCH_CACHE", "/scratch")
    monkeypatch.setattr(local, "_command", lambda job: ["env"])
    job_id = cluster.submit(job)
    wait_for("its end", lambda: cluster.ask([Held(job_id, "")])[Held(job_id, "")] != Alive())
    assert "tok-5ecret" not in job.folder.log.read_text()
    assert f"BIGBATCH_JOB={NAME}" in job.folder.log.read_text()
    assert "BIGBATCH_CACHE=/scratch" in job.folder.log.read_text(), "read by the ranks"


def test_a_log_that_cannot_be_opened_is_a_refusal(cluster: Local, job: Job) -> None:
    """Forces the fault: a folder lies where the log should be."""
    job.folder.log.unlink(missing_ok=True)
    job.folder.log.mkdir()
    with pytest.raises(local.RefusedError, match=r"could not be started.*out\.log") as refusal:
        cluster.submit(job)
    assert not isinstance(refusal.value, FullError), "no other try would be any better"


def test_a_machine_that_can_start_no_process_now_is_full(
    cluster: Local, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: fork fails, as it does where there are too many processes or too little memory."""

    def fork(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(local.subprocess, "Popen", fork)
    assert cluster.may_submit()
    with pytest.raises(FullError, match="could not be started"):
        cluster.submit(job)
    assert not cluster.may_submit(), "the next runs keep their turn"
