"""The status of jobs in Slurm, whose commands are shell scripts here: an incomplete answer gives no job a status."""

from contextlib import suppress
from pathlib import Path

import pytest

from contract.lifecycle.job_end import EndKind
from contract.lifecycle.pending_reason import Pending, PendingReason
from scheduler.clusters.cluster import (
    Alive,
    Gone,
    JobHandle,
    JobStatus,
    NoAnswerError,
    RateLimitedError,
    Unknown,
    gone,
)
from scheduler.clusters.rate_limit import Priority, UnlimitedRate
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.job_status import ACCOUNTING_ONLY, NOT_IN_SQUEUE, TAKEN_OUT, UNLISTED
from tests.testing.clusters import Play
from tests.testing.slurm import MINE, RUNNING, status_of

pytestmark = pytest.mark.ring("quick")

NODE_FAILED = gone(EndKind.NODE_FAILED)._replace(hosts=("n1", "n2"))
COMPLETED = gone(EndKind.COMPLETED)
NO_SUCH_JOB = 'echo "Invalid job id specified" >&2; exit 1'


def test_one_call_of_squeue_gives_the_status_of_all_jobs(play: Play, tmp_path: Path) -> None:
    listed = ("1|RUNNING|None|n1", "2_7|PENDING|Priority|", "3|TIMEOUT|TimeLimit|n1", "4|NODE_FAIL|None|n[1-2]")
    lines = "".join(f"{line}|||{MINE}\\n" for line in listed)
    play("squeue", f'echo "$*" >> {tmp_path}/calls; printf "{lines}"')
    assert status_of("1", "2_7", "3", "4") == [
        RUNNING,
        Alive(Pending(PendingReason.PRIORITY, "Priority")),
        gone(EndKind.TIME_LIMIT, "TimeLimit"),
        NODE_FAILED,
    ]
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("start", "started_at"), [("2026-03-01T10:00:07", "2026-03-01T10:00:07"), ("N/A", None), ("Unknown", None)]
)
def test_a_cancelled_job_has_the_start_that_slurm_states(play: Play, start: str, started_at: str | None) -> None:
    play("squeue", f'echo "1|CANCELLED|None|n1|{start}|{start}|{MINE}"')
    (status,) = status_of("1")
    assert isinstance(status, Gone)
    local = status.started_at and status.started_at.astimezone().replace(tzinfo=None).isoformat()
    assert local == started_at


@pytest.mark.parametrize("command", ["squeue", "sacct"])
@pytest.mark.parametrize(
    ("end", "at"), [("2026-03-01T10:00:07", "2026-03-01T10:00:07"), ("N/A", None), ("Unknown", None), ("", None)]
)
def test_an_ended_job_has_the_end_that_slurm_states(play: Play, command: str, end: str, at: str | None) -> None:
    play("squeue", "true")
    play("scontrol", NO_SUCH_JOB)
    play(command, f'echo "1|COMPLETED|{"None" if command == "squeue" else "0:0"}|n1|2026-03-01T09:00:00|{end}|{MINE}"')
    (status,) = status_of("1")
    assert isinstance(status, Gone)
    assert (status.end.at and status.end.at.astimezone().replace(tzinfo=None).isoformat()) == at


@pytest.mark.parametrize("command", ["squeue", "sacct"])
def test_one_line_stands_for_the_cancelled_pending_tasks_of_an_array(play: Play, command: str) -> None:
    """Slurm 22.05 lists this after `scancel 1_[0-2]`; the end of a task without its own line is not certain."""
    play("squeue", "exit 1")
    running, detail = ("1_2|RUNNING|None|n1", "None") if command == "squeue" else ("1_2|RUNNING|0:0|n1", "0:0")
    lines = (f"{running}|||{MINE}", f"1|CANCELLED by 1000|{detail}||||{MINE}", f"1|FAILED|{detail}||||other")
    play(command, "; ".join(f'echo "{line}"' for line in lines))
    cancelled = gone(EndKind.CANCELLED, is_certain=False)
    assert status_of("1_0", "1_1", "1_2") == [cancelled, cancelled, RUNNING]


def test_without_an_answer_of_squeue_the_status_is_unknown(play: Play) -> None:
    play("squeue", 'echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1')
    (status,) = status_of("1")
    assert isinstance(status, Unknown)
    assert "Unable to contact slurm controller" in status.message


@pytest.mark.parametrize(
    ("sacct", "status"),
    [
        (f"1|RUNNING|0:0|n1|||{MINE}", RUNNING),
        (f"1|COMPLETED|0:0|n1|||{MINE}", COMPLETED),
        (f"1|FAILED|4:0|n1|||{MINE}", gone(EndKind.FAILED, "exit code 4:0", exit_code=4)),
        (f"1|NODE_FAIL|0:0|n[1-2]|||{MINE}", NODE_FAILED),
        # here only squeue could give the status
        (f"1|CANCELLED by 0|0:0|n1|||{MINE}", Unknown("squeue: exit code 1")),
        ("1|FAILED|1:0|n1|||another", Unknown("squeue: exit code 1")),
        (f"1|HIBERNATING|0:0|n1|||{MINE}", Unknown("squeue: exit code 1")),
        ("", Unknown("squeue: exit code 1")),
    ],
)
def test_accounting_alone_suffices_while_squeue_fails(play: Play, sacct: str, status: JobStatus) -> None:
    """Forces the fault: squeue fails, sacct answers; a job that sacct does not list is not ended."""
    play("squeue", "exit 1")
    play("sacct", f'echo "{sacct}"')
    play("scontrol", NO_SUCH_JOB)
    assert status_of("1") == [status]


def test_a_submission_is_found_by_accounting_alone_but_never_lost_by_accounting_alone(play: Play) -> None:
    """Forces the fault: squeue fails, or prints garbage, and sacct lists one of two names."""
    play("sacct", f'echo "11_3|{MINE}"')
    for squeue in ("exit 1", "echo garbage"):
        play("squeue", squeue)
        assert Slurm().find([MINE, "another"]) == {MINE: "11"}
    play("sacct", "true")
    with pytest.raises(NoAnswerError, match="no list of jobs"):
        Slurm().find([MINE])


@pytest.mark.parametrize(
    ("sacct", "scontrol", "status"),
    [
        (f'echo "1|COMPLETED|0:0|n1|||{MINE}"', "exit 1", COMPLETED),
        (f'echo "1|CANCELLED by 1000|0:15|n1|||{MINE}"', "exit 1", gone(EndKind.CANCELLED, "exit code 0:15")),
        (f'echo "1|CANCELLED by 0|0:0|n1|||{MINE}"', "exit 1", ACCOUNTING_ONLY),
        (f'echo "1|RUNNING|0:0|n1|||{MINE}"', "exit 1", Unknown("scontrol: exit code 1")),
        # accounting may list a job for ever as running that the controller lost in a crash
        (f'echo "1|RUNNING|0:0|n1|||{MINE}"', NO_SUCH_JOB, UNLISTED),
        (f'echo "1|RUNNING|0:0|n1|||{MINE}"', f"echo JobId=1 JobName={MINE}", NOT_IN_SQUEUE),
        (f'echo "1|HIBERNATING|0:0|n1|||{MINE}"', NO_SUCH_JOB, UNLISTED),
        ("true", "exit 1", Unknown("scontrol: exit code 1")),
        ("true", NO_SUCH_JOB, UNLISTED),
        ("exit 1", NO_SUCH_JOB, UNLISTED),
        ("exit 1", f"echo JobId=1 JobName={MINE}", NOT_IN_SQUEUE),
        ("exit 1", "true", NOT_IN_SQUEUE),
        ("exit 1", "echo JobId=1 JobName=another", UNLISTED),
    ],
)
def test_the_status_of_a_job_that_squeue_does_not_list(
    play: Play, sacct: str, scontrol: str, status: JobStatus
) -> None:
    """Forces the fault: squeue's answer is empty; that alone is never the end of a job."""
    play("squeue", "true")
    play("sacct", sacct)
    play("scontrol", scontrol)
    assert status_of("1") == [status]


def test_an_end_that_slurm_does_not_report_is_not_certain() -> None:
    assert (UNLISTED.end.kind, UNLISTED.is_certain) == (EndKind.UNLISTED, False)
    assert (ACCOUNTING_ONLY.end.kind, ACCOUNTING_ONLY.is_certain) == (EndKind.ACCOUNTING_ONLY, False)


@pytest.mark.parametrize("command", ["squeue", "sacct"])
def test_the_end_of_another_job_with_the_same_id_does_not_count(play: Play, command: str) -> None:
    """Forces the fault: slurmctld reused the id for another job, which failed."""
    play("squeue", "true")
    play("scontrol", NO_SUCH_JOB)
    line = "1|FAILED|NonZeroExitCode|n1|||other" if command == "squeue" else "1|FAILED|1:0|n1|||other"
    play(command, f'echo "{line}"')
    assert status_of("1") == [UNLISTED]


def test_two_jobs_with_one_id_are_distinguished_by_their_names(play: Play) -> None:
    """Forces the fault: slurmctld lost its last jobs and reused an id; the service follows both jobs."""
    play("scontrol", NO_SUCH_JOB)
    play("sacct", "true")
    play("squeue", f'echo "77|RUNNING|None|n1|||{MINE}"')
    lost, present = JobHandle("77", "lost"), JobHandle("77", MINE)
    assert Slurm().status([lost, present]) == {lost: UNLISTED, present: RUNNING}
    play("squeue", "true")
    play("sacct", f'echo "77|COMPLETED|0:0|n1|||{MINE}"')
    assert Slurm().status([lost, present]) == {lost: UNLISTED, present: COMPLETED}


@pytest.mark.parametrize("pending_tasks", ["3-9%2", "1,3-9", "3-9:2,4,6,8"])
def test_each_task_of_an_array_has_its_own_status(play: Play, pending_tasks: str) -> None:
    """Forces an outage of the service that outlasts MinJobAge, without accounting: some tasks are still pending."""
    play("squeue", "true")
    play("sacct", "exit 1")
    play("scontrol", f"echo 'JobId=9 ArrayJobId=9 ArrayTaskId={pending_tasks} JobName={MINE} JobState=PENDING'")
    first, second = status_of("9_2", "9_4")
    assert first == TAKEN_OUT, "it was cancelled, unless it has begun (scheduler/jobs/doubted_ends.py)"
    assert isinstance(second, Unknown)
    # a truncated list of tasks may continue with any task, whatever other lines list
    play(
        "scontrol",
        f"echo 'JobId=9 ArrayJobId=9 ArrayTaskId=5,7,4... JobName={MINE}'; "
        f"echo 'JobId=8 ArrayJobId=9 ArrayTaskId=0 JobName={MINE}'",
    )
    assert all(isinstance(status, Unknown) for status in status_of("9_2", "9_4"))


def test_a_controller_without_any_job_lists_none_of_several(play: Play) -> None:
    """Forces a long outage of the service, without accounting."""
    play("squeue", "true")
    play("sacct", "exit 1")
    play("scontrol", 'echo "No jobs in the system"')
    assert status_of("7", "8") == [UNLISTED, UNLISTED]


def test_a_job_is_found_by_its_name_without_accounting_too(play: Play) -> None:
    play("squeue", f'case "$*" in *--name={MINE}*) echo "9_[0-3]|{MINE}";; esac')
    assert Slurm().find([MINE]) == {MINE: "9"}
    play("squeue", "true")
    assert Slurm().find([MINE]) == {MINE: None}
    play("sacct", f'echo "11_3|{MINE}"')
    assert Slurm().find([MINE]) == {MINE: "11"}
    play("squeue", "exit 1")
    play("sacct", "exit 1")
    with pytest.raises(NoAnswerError, match="squeue"):
        Slurm().find([MINE])


def test_one_call_of_squeue_and_one_of_sacct_find_many_names(play: Play) -> None:
    play("squeue", 'case "$*" in *--name=here,ended,never*) echo "9|here"; echo "9|here";; esac')
    play("sacct", 'case "$*" in *--name=ended,never*) echo "7_0|ended"; echo "7_1|ended";; esac')
    assert Slurm().find(["here", "ended", "never"]) == {"here": "9", "ended": "7", "never": None}


def test_two_workers_that_get_one_call_at_a_time_complete_their_searches(play: Play, tmp_path: Path) -> None:
    """Forces the fault: whenever the rate limit allows a call, one worker makes it, and no second call is free."""

    class OneAtATime(UnlimitedRate):
        free = 0

        def acquire(self, priority: Priority) -> bool:
            self.free -= 1
            return self.free >= 0

    play("squeue", f'echo squeue >> {tmp_path}/calls; case "$*" in *here*) echo "9|here";; esac')
    play("sacct", f"echo sacct >> {tmp_path}/calls")
    rate_limit, found = OneAtATime(), list[object]()
    workers = [Slurm(rate_limit=rate_limit), Slurm(rate_limit=rate_limit)]
    for search in range(4):
        rate_limit.free = 1
        with suppress(RateLimitedError):
            found.append(workers[search % 2].find(["here", "never"] if search < 2 else ["never"]))
    assert found == [{"here": "9"}, {"here": "9"}, {"never": None}, {"never": None}]
    assert (tmp_path / "calls").read_text().split() == ["squeue", "squeue", "sacct", "sacct"]


def test_a_report_is_made_only_if_both_of_its_calls_are_free(play: Play, tmp_path: Path) -> None:
    """Forces the fault: the minute has one call for reports left, and a report takes two."""

    class OneFree(UnlimitedRate):
        def count_free(self, priority: Priority) -> int:
            return 1

    play("sinfo", f"touch {tmp_path}/called")
    with pytest.raises(RateLimitedError):
        Slurm(rate_limit=OneFree()).report()
    assert not (tmp_path / "called").exists()
