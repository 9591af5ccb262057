"""Incomplete answers of Slurm: cut off, garbage, partial, or without hidden partitions."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contract.lifecycle.pending_reason import PendingReason
from scheduler.clusters.cluster import JobHandle, JobStatus, NoAnswerError, Unknown, UnreadableReportError
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.job_status import NOT_IN_SQUEUE, TAKEN_OUT, UNLISTED
from tests.testing.clusters import Play
from tests.testing.slurm import MINE, RUNNING, status_of

pytestmark = pytest.mark.ring("quick")

FAILS = "exit 1"
NODE = "n1|gpu*|up|1:00:00|NO|idle|0/8/0/8|4000|(null)|(null)"


@pytest.mark.parametrize("line", ["1|RUN", "garbage", "1|RUNNING|None|n1||", "|||||", "||||||"])
def test_a_line_that_is_cut_off_gives_no_status(play: Play, line: str) -> None:
    """Forces the fault: squeue's answer is cut off; there is no accounting, and the controller is down."""
    play("squeue", f'printf "{line}"')
    (status,) = status_of("1")
    assert isinstance(status, Unknown)


@pytest.mark.parametrize("garbage", ["slurm_receive_msg|||", "9|RUNNING\\nunexpected|EOF", "|9", "no jobs"])
def test_garbage_neither_finds_a_job_nor_denies_one(play: Play, garbage: str) -> None:
    """Forces the fault: squeue prints something else than a list of jobs during a search by name."""
    play("squeue", f'printf "{garbage}\\n"')
    with pytest.raises(NoAnswerError, match="no list of jobs"):
        Slurm().find([MINE])


@pytest.mark.parametrize(
    ("shown", "status"),
    [
        (("8", "9"), UNLISTED),
        (("9",), NOT_IN_SQUEUE),  # lacks a job that squeue lists, so the list is incomplete
        (("8", "9", "1"), NOT_IN_SQUEUE),
    ],
)
def test_a_list_that_lacks_a_job_of_squeue_denies_no_job(play: Play, shown: tuple[str, ...], status: JobStatus) -> None:
    """Forces the fault: squeue's answer lacks two jobs, and the controller's list may be partial as well."""
    play("squeue", f'echo "8|RUNNING|None|n1|||{MINE}"')
    play("sacct", FAILS)
    play("scontrol", "; ".join(f"echo JobId={job_id} JobName={MINE}" for job_id in shown))
    assert status_of("1", "2", "8") == [status, UNLISTED if "8" in shown else status, RUNNING]


@pytest.mark.parametrize("other", ["my notebook", MINE])
@pytest.mark.parametrize(
    ("listed", "shown", "status"),
    [
        ("1_3|PENDING|None||||" + MINE, "ArrayJobId=1 ArrayTaskId=3-9 JobName=" + MINE, TAKEN_OUT),
        ("1|RUNNING|None|n1|||another", f"JobName=another Comment=JobId=1 JobName={MINE}", UNLISTED),
    ],
)
def test_one_job_is_denied_whatever_else_is_listed(
    play: Play, other: str, listed: str, shown: str, status: JobStatus
) -> None:
    """Forces a long outage of the service: other tasks of the array are pending, or slurmctld reused the id."""
    play("squeue", f'echo "8|RUNNING|None|n1|||{other}"; echo "{listed}"')
    play("sacct", FAILS)
    play("scontrol", f'echo "JobId=1 {shown}"')
    assert status_of("1_2") == [status]


@pytest.mark.parametrize(
    ("job_id", "name"), [("8", "my notebook"), ("8+1", "two parts"), ("8", ""), ("8", " a blank before it")]
)
def test_another_job_of_the_user_hides_no_end_whatever_its_name_and_its_parts(
    play: Play, job_id: str, name: str
) -> None:
    play("squeue", f'echo "{job_id}|RUNNING|None|n1|||{name}"')
    play("sacct", FAILS)
    play("scontrol", f'echo "JobId=8 JobName={name}"')
    assert status_of("1", "2") == [UNLISTED, UNLISTED]


def test_every_command_lists_jobs_in_hidden_partitions_too(play: Play, tmp_path: Path) -> None:
    """squeue, sinfo and `scontrol show job` omit these jobs without the option --all (squeue(1))."""
    for command, answer in (("squeue", ""), ("scontrol", f"JobId=9 JobName={MINE}"), ("sinfo", NODE)):
        play(command, f'echo "{command} $*" >> {tmp_path}/calls; echo "{answer}"')
    cluster = Slurm()
    cluster.status([JobHandle("1", MINE), JobHandle("2", MINE)])
    with suppress(NoAnswerError):
        cluster.find([MINE])
    cluster.report()
    cluster.cancel([JobHandle("1", MINE)])
    calls = [call for call in (tmp_path / "calls").read_text().splitlines() if "show config" not in call]
    assert {call.split()[0] for call in calls} == {"squeue", "scontrol", "sinfo"}
    assert [call for call in calls if "-a" not in call.split()] == []


@pytest.mark.parametrize(
    ("sinfo", "squeue"),
    [("n1|gpu*|up|1:00:00|NO|idle|8/0|4000|(null)|(null)", ""), (NODE, "1|ann|gpu|R|GNINNUR|1:00|N/A|7|None|job")],
)
def test_a_report_of_garbage_is_no_answer(play: Play, sinfo: str, squeue: str) -> None:
    """Forces the fault: the lines have the right number of columns, with wrong values."""
    play("sinfo", f"echo '{sinfo}'")
    play("squeue", f"echo '{squeue}'")
    with pytest.raises(UnreadableReportError, match="no report of a cluster"):
        Slurm().report()


def test_a_report_counts_tasks_of_arrays_and_nodes_out_of_service(play: Play, tmp_path: Path) -> None:
    states = {"n1": "drained", "n2": "draining", "n3": "down*", "n4": "idle", "n5": "mixed*", "n6": "drained$"}
    play("sinfo", "; ".join(f"echo '{NODE.replace('n1', name).replace('idle', now)}'" for name, now in states.items()))
    job = "ann|big,small|PENDING|1|0:00|N/A|7|(Priority)|array"
    ids = ("7_[0-9%2]", "8_[1,3,5-7]", "9", "10_4")
    play("squeue", f"echo $SLURM_BITSTR_LEN > {tmp_path}/length; " + "; ".join(f"echo '{id_}|{job}'" for id_ in ids))
    report = Slurm().report()
    assert [one.tasks for one in report.queue] == [10, 5, 1, 1]
    assert report.partitions[0].out_of_service == {"drained": 2, "draining": 1, "down": 1, "not responding": 1}
    assert [report.queue[0].is_in(name) for name in ("big", "small", "bigger")] == [True, True, False]
    assert (tmp_path / "length").read_text() == "0\n", "squeue must not end a long list of tasks by dots"


def test_a_report_has_the_jobs_of_each_node_and_why_a_job_waits(play: Play) -> None:
    nodes = [NODE, NODE.replace("n1", "n2"), NODE.replace("n1", "n3")]
    jobs = [
        "7|ann|gpu|RUNNING|2|1:00|2026-01-05T12:00:00|4294901760|n[1-2]|a|name with a bar",
        "8_3|ann|gpu|COMPLETING|1|1:00|2026-01-05T12:00:00|4294901759|n2|b",
        "9|bob|gpu|PENDING|1|0:00|2026-01-05T13:00:00|4294901758|(Resources)|c",
        "10|bob|gpu,cpu|PENDING|1|0:00|N/A|0|(JobHeldUser)|d",
    ]
    for command, lines in (("sinfo", nodes), ("squeue", jobs)):
        play(command, "; ".join(f"echo '{line}'" for line in lines))
    report = Slurm().report()
    assert [(node.name, node.jobs) for node in report.nodes] == [("n1", ["7"]), ("n2", ["7", "8_3"]), ("n3", [])]
    shown = [(job.job_id, job.pending_reason, job.reason, job.priority) for job in report.queue]
    assert shown == [
        ("7", None, "n[1-2]", 4294901760),
        ("8_3", None, "n2", 4294901759),
        ("9", PendingReason.RESOURCES, "Resources", 4294901758),
        ("10", PendingReason.HELD_BY_USER, "JobHeldUser", 0),
    ]
    predicted = datetime.fromisoformat("2026-01-05T13:00:00").astimezone(UTC)  # squeue prints local time
    assert [job.predicted_start for job in report.queue] == [None, None, predicted, None]
    assert report.queue[0].name == "a|name with a bar"
