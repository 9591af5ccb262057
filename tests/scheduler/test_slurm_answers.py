"""Answers of Slurm that are not whole, or would not be: torn, garbage, partial, and without hidden partitions."""

from contextlib import suppress
from pathlib import Path

import pytest

from scheduler.clusters.cluster import Alive, Answer, DoubtError, Held, Unknown
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.job_status import LEFT
from tests.scheduler.conftest import Play
from tests.scheduler.test_slurm_jobs import MINE, ask

DOWN = "exit 1"
NODE = "n1|gpu*|up|1:00:00|NO|idle|0/8/0/8|4000|(null)|(null)"


@pytest.mark.parametrize("torn", ["1|RUN", "garbage", "1|RUNNING|None|n1", "|||", "||||"])
def test_a_torn_line_is_no_answer(play: Play, torn: str) -> None:
    """Forces the fault: squeue's answer breaks off; without accounting and with a controller that is down."""
    play("squeue", f'printf "{torn}"')
    (answer,) = ask("1")
    assert isinstance(answer, Unknown)


@pytest.mark.parametrize("garbage", ["slurm_receive_msg|||", "9|RUNNING\\nunexpected|EOF", "|9", "no jobs"])
def test_garbage_is_neither_a_job_that_was_found_nor_one_that_is_not_there(play: Play, garbage: str) -> None:
    """Forces the fault: squeue answers what is no list of jobs, while a submission is looked for by its name."""
    play("squeue", f'printf "{garbage}\\n"')
    with pytest.raises(DoubtError, match="no list of jobs"):
        Slurm().find([MINE])


@pytest.mark.parametrize(
    ("shown", "answer"),
    [
        (("8", "9"), LEFT),
        (("9",), Unknown("squeue does not list the job, the controller knows it")),  # without what squeue has told of
        (("8", "9", "1"), Unknown("squeue does not list the job, the controller knows it")),
    ],
)
def test_a_list_that_leaves_out_what_squeue_told_of_denies_no_job(
    play: Play, shown: tuple[str, ...], answer: Answer
) -> None:
    """Forces the fault: squeue leaves out two jobs, and the controller's list may be partial as well."""
    play("squeue", f'echo "8|RUNNING|None|n1|{MINE}"')
    play("sacct", DOWN)
    play("scontrol", "; ".join(f"echo JobId={job_id} JobName={MINE}" for job_id in shown))
    assert ask("1", "2", "8") == [answer, LEFT if "8" in shown else answer, Alive()]


@pytest.mark.parametrize("other", ["my notebook", MINE])
@pytest.mark.parametrize(
    ("there", "shown"),
    [
        ("1_3|PENDING|None||" + MINE, "ArrayJobId=1 ArrayTaskId=3-9 JobName=" + MINE),
        ("1|RUNNING|None|n1|another", f"JobName=another Comment=JobId=1 JobName={MINE}"),
    ],
)
def test_one_job_that_is_gone_is_denied_whatever_else_is_there(play: Play, other: str, there: str, shown: str) -> None:
    """Forces what a service finds that was away for long: of an array some tasks wait, or its id was given again."""
    play("squeue", f'echo "8|RUNNING|None|n1|{other}"; echo "{there}"')
    play("sacct", DOWN)
    play("scontrol", f'echo "JobId=1 {shown}"')
    assert ask("1_2") == [LEFT]


@pytest.mark.parametrize(
    ("job_id", "name"), [("8", "my notebook"), ("8+1", "two parts"), ("8", ""), ("8", " a blank before it")]
)
def test_a_user_s_own_job_hides_no_end_whatever_its_name_and_its_parts(play: Play, job_id: str, name: str) -> None:
    play("squeue", f'echo "{job_id}|RUNNING|None|n1|{name}"')
    play("sacct", DOWN)
    play("scontrol", f'echo "JobId=8 JobName={name}"')
    assert ask("1", "2") == [LEFT, LEFT]


def test_jobs_in_partitions_that_are_hidden_from_users_are_asked_for_too(play: Play, tmp_path: Path) -> None:
    """squeue, sinfo and `scontrol show job` leave them out, unless they are told to (squeue(1), --all)."""
    for command, said in (("squeue", ""), ("scontrol", f"JobId=9 JobName={MINE}"), ("sinfo", NODE)):
        play(command, f'echo "{command} $*" >> {tmp_path}/calls; echo "{said}"')
    cluster = Slurm()
    cluster.ask([Held("1", MINE), Held("2", MINE)])
    with suppress(DoubtError):
        cluster.find([MINE])
    cluster.report()
    cluster.cancel([Held("1", MINE)])
    calls = [call for call in (tmp_path / "calls").read_text().splitlines() if "show config" not in call]
    assert {call.split()[0] for call in calls} == {"squeue", "scontrol", "sinfo"}
    assert [call for call in calls if "-a" not in call.split()] == []


@pytest.mark.parametrize(
    ("sinfo", "squeue"),
    [("n1|gpu*|up|1:00:00|NO|idle|8/0|4000|(null)|(null)", ""), (NODE, "1|ann|gpu|R|GNINNUR|1:00|None|job")],
)
def test_a_report_that_is_garbage_is_doubt(play: Play, sinfo: str, squeue: str) -> None:
    """Forces the fault: lines of as many columns as were asked for, with other things in them."""
    play("sinfo", f"echo '{sinfo}'")
    play("squeue", f"echo '{squeue}'")
    with pytest.raises(DoubtError, match="no description of a cluster"):
        Slurm().report()
