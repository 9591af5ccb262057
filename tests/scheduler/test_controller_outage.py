"""After a call without an answer the service calls the controller less often, and calls are free after an outage."""

import subprocess
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine

from scheduler.clusters.cluster import BackingOffError, HostFaultError, JobHandle, NoAnswerError, RateLimitedError
from scheduler.clusters.rate_limit import BACKOFF_S, Priority, UnlimitedRate
from scheduler.clusters.shared_rate_limit import SharedRateLimit
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.commands import Commands
from tests.testing.clusters import Play

UNREACHABLE = 'echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1'


class Clock:
    """The clock of the modules that measure time here; a test sets `at`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 1e9
        time = SimpleNamespace(time=lambda: self.at, monotonic=lambda: self.at)
        for module in ("store.rate_limit", "scheduler.clusters.slurm.find", "scheduler.clusters.slurm.cluster"):
            monkeypatch.setattr(f"{module}.time", time)


def test_only_polls_call_a_controller_that_gave_no_answer(
    play: Play, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Forces the fault: the controller cannot be reached, accounting can."""
    clock = Clock(monkeypatch)
    one, other = [Commands(SharedRateLimit(sqlite_engine, "slurm")) for _ in range(2)]
    play("squeue", UNREACHABLE)
    play("scancel", f"touch {tmp_path}/called")
    play("sacct", "echo 7")
    with pytest.raises(NoAnswerError, match="Unable to contact"):
        one.ask("squeue")
    for worker in (one, other):
        with pytest.raises(BackingOffError, match="did not answer a moment ago"):
            worker.run("scancel", "7", priority=Priority.SUBMIT)
    assert (other.ask("sacct"), (tmp_path / "called").exists()) == ("7\n", False)
    play("squeue", "echo 7")
    assert other.ask("squeue", priority=Priority.POLL) == "7\n"
    one.run("scancel", "7", priority=Priority.SUBMIT)
    assert (tmp_path / "called").exists()
    play("squeue", UNREACHABLE)
    with pytest.raises(NoAnswerError):
        one.ask("squeue")
    assert one.rate_limit.is_backing_off()
    clock.at += BACKOFF_S
    assert not other.rate_limit.is_backing_off(), "after the backoff one call may try"


MUNGE_IS_DOWN = """
echo 'squeue: error: If munged is up, restart with --num-threads=10' >&2
echo 'squeue: error: Munge encode failed: Failed to access "/run/munge/munge.socket.2": No such file' >&2
echo 'squeue: error: slurm_send_node_msg: auth_g_create: REQUEST_JOB_INFO has authentication error' >&2
echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2
exit 1"""


@pytest.mark.parametrize("priority", [Priority.POLL, Priority.SUBMIT_ONE])
def test_a_host_without_munge_leaves_the_calls_to_the_other_hosts(
    play: Play, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, priority: Priority
) -> None:
    """Forces the fault: munged is down on the host of one of two workers."""
    one, other = [Commands(SharedRateLimit(sqlite_engine, "slurm")) for _ in range(2)]
    play("squeue", MUNGE_IS_DOWN)
    with pytest.raises(NoAnswerError, match="Munge encode failed"):
        one.ask("squeue", priority=priority)
    play("squeue", "echo 7")
    for kind in (Priority.SUBMIT, Priority.CANCEL, Priority.REPORT):
        assert other.ask("squeue", priority=kind) == "7\n"
    assert other.rate_limit.count_free(Priority.SUBMIT_ONE)
    for kind in Priority:
        with pytest.raises(HostFaultError, match="could not authenticate itself"):
            one.ask("squeue", priority=kind)
    monkeypatch.setattr("scheduler.clusters.shared_rate_limit.HOST_FAULT_S", 0.0)
    assert one.ask("squeue", priority=Priority.CANCEL) == "7\n"


def test_a_clock_that_is_set_back_ends_the_backoff(sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, rate_limit = Clock(monkeypatch), SharedRateLimit(sqlite_engine, "slurm")
    rate_limit.record_answer(no_answer=True)
    clock.at -= 600.0
    assert not rate_limit.is_backing_off()


@pytest.mark.parametrize(
    ("message", "is_no_answer"),
    [
        ("squeue: error: Unable to contact slurm controller (connect failure)", True),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", True),
        ("scontrol: error: Invalid job id specified", False),
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination", False),
    ],
)
def test_a_refusal_is_an_answer(play: Play, message: str, is_no_answer: bool) -> None:
    play("scontrol", f"echo '{message}' >&2; exit 1")
    assert Commands(UnlimitedRate()).run("scontrol", priority=Priority.FOLLOW_UP).is_no_answer is is_no_answer


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("minutes", [0.5, 3.0])
@pytest.mark.parametrize("phase_s", range(0, 21, 5))
def test_an_unconfirmed_submission_is_resolved_soon_after_an_outage(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, minutes: float, phase_s: int
) -> None:
    """Forces a shortage of calls: during the outage polls, searches, submissions and cancellations are all due.
    A report was made just before."""
    clock, is_down = Clock(monkeypatch), [True]
    calls: list[tuple[float, str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        name = command[2]
        calls.append((clock.at, name))
        if is_down[0] and name != "sacct":
            return SimpleNamespace(returncode=1, stdout="", stderr="Unable to contact slurm controller")
        return SimpleNamespace(returncode=0, stdout="", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    cluster = Slurm(rate_limit=SharedRateLimit(sqlite_engine, "slurm"))
    assert [cluster._commands.rate_limit.acquire(Priority.REPORT) for _ in range(2)] == [True, True]
    poll_at = cancel_at = find_at = clock.at
    ends = clock.at + 60.0 * minutes + phase_s
    while clock.at < ends + 30.0:
        clock.at += 1.0
        is_down[0] = clock.at < ends
        if clock.at >= poll_at:
            try:
                cluster.status([JobHandle("7", "mine")])
                poll_at = clock.at + 6.0
            except RateLimitedError:
                poll_at = clock.at + 2.0
        if clock.at >= cancel_at:
            with suppress(NoAnswerError):
                cluster.cancel([JobHandle("7", "mine")])
            cancel_at = clock.at + 10.0
        if is_down[0] and cluster.may_submit():
            cluster._commands.run("sbatch", priority=Priority.SUBMIT)
        if clock.at >= find_at:
            try:
                if cluster.find(["unconfirmed"]) == {"unconfirmed": None}:
                    break
                find_at = clock.at + 2.0
            except RateLimitedError:
                find_at = clock.at + 2.0
            except NoAnswerError:
                find_at = clock.at + 10.0
    took_s = clock.at - ends
    print(f"resolved {took_s:g} s after the outage")
    assert 0.0 <= took_s <= 20.0, f"resolved {took_s:g} s after the outage"
    assert max(sum(at <= other < at + 60.0 for other, _ in calls) for at, _ in calls) <= 10, "and a report"
