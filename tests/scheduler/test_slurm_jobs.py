"""How jobs on a Slurm are, its commands played by scripts: an answer that is not whole says nothing about any job."""

from contextlib import suppress
from pathlib import Path

import pytest

from contract.lifecycle.pending_reason import Waits
from contract.spec.retry import Cause
from scheduler.clusters.cluster import Alive, Answer, BusyError, DoubtError, Gone, Held, Unknown
from scheduler.clusters.rate_limit import OpenGate, Urgency
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.job_states import STATES, answer_for
from scheduler.clusters.slurm.job_status import FLUSHED, LEFT
from scheduler.clusters.slurm.pending_reasons import SENTENCES, classify
from tests.scheduler.conftest import Play

MINE = "bigbatch-cafe-1"
DOWN = Gone("a node of the job failed", Cause.NODE_FAILURE, hosts=("n1", "n2"))


def ask(*job_ids: str) -> list[Answer]:
    answers = Slurm().ask([Held(job_id, MINE) for job_id in job_ids])
    return [answers[Held(job_id, MINE)] for job_id in job_ids]


def test_all_jobs_are_asked_for_at_once(play: Play, tmp_path: Path) -> None:
    told = ("1|RUNNING|None|n1", "2_7|PENDING|Priority|", "3|TIMEOUT|TimeLimit|n1", "4|NODE_FAIL|None|n[1-2]")
    lines = "".join(f"{line}|{MINE}\\n" for line in told)
    play("squeue", f'echo "$*" >> {tmp_path}/calls; printf "{lines}"')
    assert ask("1", "2_7", "3", "4") == [
        Alive(),
        Alive("jobs of a higher priority come first (Priority)", Waits.RESOURCES),
        Gone("the job reached its time limit (TimeLimit)", Cause.TIME_LIMIT),
        DOWN,
    ]
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


@pytest.mark.parametrize("command", ["squeue", "sacct"])
def test_of_an_array_whose_waiting_tasks_were_cancelled_one_line_is_left(play: Play, command: str) -> None:
    """Slurm 22.05 lists so what `scancel 1_[0-2]` ends; a task that the answer lost must not end by it."""
    play("squeue", "exit 1")
    sure, detail = ("1_2|RUNNING|None|n1", "None") if command == "squeue" else ("1_2|RUNNING|0:0|n1", "0:0")
    play(command, f'echo "{sure}|{MINE}"; echo "1|CANCELLED by 1000|{detail}||{MINE}"; echo "1|FAILED|{detail}||other"')
    ended = Gone("the job was cancelled in Slurm", Cause.CANCELLED, sure=False)
    assert ask("1_0", "1_1", "1_2") == [ended, ended, Alive()]


def test_a_squeue_that_fails_says_nothing_about_any_job(play: Play) -> None:
    play("squeue", 'echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1')
    (answer,) = ask("1")
    assert isinstance(answer, Unknown)
    assert "Unable to contact slurm controller" in answer.why


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        (f"1|RUNNING|0:0|n1|{MINE}", Alive()),
        (f"1|COMPLETED|0:0|n1|{MINE}", Gone("the job ended", Cause.DONE)),
        (f"1|NODE_FAIL|0:0|n[1-2]|{MINE}", DOWN),
        # of these squeue would have to say more
        (f"1|CANCELLED by 0|0:0|n1|{MINE}", Unknown("squeue: exit code 1")),
        ("1|FAILED|1:0|n1|another", Unknown("squeue: exit code 1")),
        ("", Unknown("squeue: exit code 1")),
    ],
)
def test_the_accounting_alone_suffices_while_squeue_does_not_answer(play: Play, told: str, answer: Answer) -> None:
    """Forces the fault: squeue fails, sacct answers; what it does not know is not dead."""
    play("squeue", "exit 1")
    play("sacct", f'echo "{told}"')
    play("scontrol", 'echo "Invalid job id specified" >&2; exit 1')
    assert ask("1") == [answer]


def test_a_submission_is_found_by_the_accounting_alone_and_is_never_taken_for_lost_by_it(play: Play) -> None:
    """Forces the fault: squeue fails, or answers garbage, and sacct knows one of two names."""
    play("sacct", f'echo "11_3|{MINE}"')
    for squeue in ("exit 1", "echo garbage"):
        play("squeue", squeue)
        assert Slurm().find([MINE, "another"]) == {MINE: "11"}
    play("sacct", "true")
    with pytest.raises(DoubtError, match="no list of jobs"):
        Slurm().find([MINE])


@pytest.mark.parametrize(
    ("sacct", "scontrol", "answer"),
    [
        (f'echo "1|COMPLETED|0:0|n1|{MINE}"', "exit 1", Gone("the job ended", Cause.DONE)),
        (
            f'echo "1|CANCELLED by 1000|0:15|n1|{MINE}"',
            "exit 1",
            Gone("the job was cancelled in Slurm (exit code 0:15)", Cause.CANCELLED),
        ),
        (f'echo "1|CANCELLED by 0|0:0|n1|{MINE}"', "exit 1", FLUSHED),
        (f'echo "1|RUNNING|0:0|n1|{MINE}"', "exit 1", Alive()),
        # the accounting may believe for ever in a job that the controller lost when it died
        (f'echo "1|RUNNING|0:0|n1|{MINE}"', 'echo "Invalid job id specified" >&2; exit 1', LEFT),
        (f'echo "1|RUNNING|0:0|n1|{MINE}"', f"echo JobId=1 JobName={MINE}", Alive()),
        ("true", "exit 1", Unknown("scontrol: exit code 1")),
        ("true", 'echo "Invalid job id specified" >&2; exit 1', LEFT),
        ("exit 1", 'echo "Invalid job id specified" >&2; exit 1', LEFT),
        ("exit 1", f"echo JobId=1 JobName={MINE}", Unknown("squeue does not list the job, the controller knows it")),
        ("exit 1", "true", Unknown("squeue does not list the job, the controller knows it")),
        ("exit 1", "echo JobId=1 JobName=another", LEFT),
    ],
)
def test_a_job_that_squeue_leaves_out(play: Play, sacct: str, scontrol: str, answer: Answer) -> None:
    """Forces the fault: squeue answers, with nothing in it; that is never death by itself."""
    play("squeue", "true")
    play("sacct", sacct)
    play("scontrol", scontrol)
    assert ask("1") == [answer]


@pytest.mark.parametrize("command", ["squeue", "sacct"])
def test_an_id_that_slurm_has_given_to_another_job_speaks_of_that_one(play: Play, command: str) -> None:
    """Forces the fault: ids began anew, and another job has ours; its end is not ours."""
    play("squeue", "true")
    play("scontrol", 'echo "Invalid job id specified" >&2; exit 1')
    line = "1|FAILED|NonZeroExitCode|n1|other" if command == "squeue" else "1|FAILED|1:0|n1|other"
    play(command, f'echo "{line}"')
    assert ask("1") == [LEFT]


def test_of_two_jobs_with_one_id_each_is_answered_for_by_its_name(play: Play) -> None:
    """Forces the fault: a controller lost its last jobs, gave the id of one to another, and both are watched."""
    play("scontrol", 'echo "Invalid job id specified" >&2; exit 1')
    play("sacct", "true")
    play("squeue", f'echo "77|RUNNING|None|n1|{MINE}"')
    lost, there = Held("77", "lost"), Held("77", MINE)
    assert Slurm().ask([lost, there]) == {lost: LEFT, there: Alive()}
    play("squeue", "true")
    play("sacct", f'echo "77|COMPLETED|0:0|n1|{MINE}"')
    assert Slurm().ask([lost, there]) == {lost: LEFT, there: Gone("the job ended", Cause.DONE)}


@pytest.mark.parametrize("waiting", ["3-9%2", "1,3-9", "3-9:2,4,6,8"])
def test_of_an_array_each_task_is_asked_for_by_its_number(play: Play, waiting: str) -> None:
    """Forces what a service finds that was away for longer than squeue remembers, where there is no accounting: of an
    array some tasks wait still."""
    play("squeue", "true")
    play("sacct", "exit 1")
    play("scontrol", f"echo 'JobId=9 ArrayJobId=9 ArrayTaskId={waiting} JobName={MINE} JobState=PENDING'")
    first, second = ask("9_2", "9_4")
    assert first == LEFT
    assert isinstance(second, Unknown)
    # a list that is cut off may go on with any task, whatever other lines say
    play(
        "scontrol",
        f"echo 'JobId=9 ArrayJobId=9 ArrayTaskId=5,7,4... JobName={MINE}'; "
        f"echo 'JobId=8 ArrayJobId=9 ArrayTaskId=0 JobName={MINE}'",
    )
    assert all(isinstance(answer, Unknown) for answer in ask("9_2", "9_4"))


def test_a_controller_without_any_job_knows_none_of_several(play: Play) -> None:
    """Forces what a service finds that was away for long, where there is no accounting."""
    play("squeue", "true")
    play("sacct", "exit 1")
    play("scontrol", 'echo "No jobs in the system"')
    assert ask("7", "8") == [LEFT, LEFT]


def test_a_job_is_found_by_its_name_without_accounting_too(play: Play) -> None:
    play("squeue", f'case "$*" in *--name={MINE}*) echo "9_[0-3]|{MINE}";; esac')
    assert Slurm().find([MINE]) == {MINE: "9"}
    play("squeue", "true")
    assert Slurm().find([MINE]) == {MINE: None}
    play("sacct", f'echo "11_3|{MINE}"')
    assert Slurm().find([MINE]) == {MINE: "11"}
    play("squeue", "exit 1")
    play("sacct", "exit 1")
    with pytest.raises(DoubtError, match="squeue"):
        Slurm().find([MINE])


def test_many_names_are_looked_for_by_one_call_and_what_is_missing_by_another(play: Play) -> None:
    play("squeue", 'case "$*" in *--name=here,ended,never*) echo "9|here"; echo "9|here";; esac')
    play("sacct", 'case "$*" in *--name=ended,never*) echo "7_0|ended"; echo "7_1|ended";; esac')
    assert Slurm().find(["here", "ended", "never"]) == {"here": "9", "ended": "7", "never": None}


def test_two_workers_that_get_a_call_at_a_time_come_to_an_end_of_looking(play: Play, tmp_path: Path) -> None:
    """Forces the fault: whenever one of the minute's calls comes free, one worker takes it, and there is no second."""

    class OneAtATime(OpenGate):
        left = 0

        def enter(self, urgency: Urgency) -> bool:
            self.left -= 1
            return self.left >= 0

    play("squeue", f'echo squeue >> {tmp_path}/calls; case "$*" in *here*) echo "9|here";; esac')
    play("sacct", f"echo sacct >> {tmp_path}/calls")
    gate, said = OneAtATime(), list[object]()
    workers = [Slurm(gate=gate), Slurm(gate=gate)]
    for turn in range(4):
        gate.left = 1
        with suppress(BusyError):
            said.append(workers[turn % 2].find(["here", "never"] if turn < 2 else ["never"]))
    assert said == [{"here": "9"}, {"here": "9"}, {"never": None}, {"never": None}]
    assert (tmp_path / "calls").read_text().split() == ["squeue", "squeue", "sacct", "sacct"]


def test_a_cluster_is_described_when_there_are_calls_for_all_of_it(play: Play, tmp_path: Path) -> None:
    """Forces the fault: one call for descriptions is left in the minute, and a description takes two."""

    class OneLeft(OpenGate):
        def free(self, urgency: Urgency) -> int:
            return 1

    play("sinfo", f"touch {tmp_path}/called")
    with pytest.raises(BusyError):
        Slurm(gate=OneLeft()).report()
    assert not (tmp_path / "called").exists()


def test_words_of_states_that_nobody_knows_are_no_answer() -> None:
    assert answer_for("HIBERNATING", "") is None
    assert answer_for("", "") is None
    assert answer_for("COMPLETING", "") == Alive()
    assert answer_for("REQUEUE_HOLD", "None") == Alive(
        "the job is held after it was requeued (REQUEUE_HOLD)", Waits.HELD
    )
    assert answer_for("SUSPENDED", "None") == Alive("the job is suspended and keeps its place (SUSPENDED)", Waits.HELD)


GETS_ON = {"PENDING", "RUNNING", "COMPLETING", "SIGNALING", "UPDATE_DB"}  # PENDING has a reason of its own


def test_every_state_is_alive_or_has_a_cause_and_a_sentence() -> None:
    for state, meaning in STATES.items():
        assert meaning.sentence
        answer = answer_for(state, "")
        assert isinstance(answer, Gone if meaning.cause else Alive)
        if isinstance(answer, Alive) and state not in GETS_ON:
            assert (answer.waits_for, answer.kind) == (f"{meaning.sentence} ({state})", meaning.waits)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("Resources", Waits.RESOURCES),
        ("ReqNodeNotAvail, UnavailableNodes:gpu[1-4]", Waits.RESOURCES),
        ("QOSMaxJobsPerUserLimit", Waits.QUOTA),
        ("AssocGrpCPUMinutesLimit", Waits.QUOTA),
        ("JobArrayTaskLimit", Waits.QUOTA),
        ("JobHeldUser", Waits.HELD),
        ("launch_failed_requeued_held", Waits.HELD),
        ("Dependency", Waits.DEPENDENCY),
        ("BeginTime", Waits.DEPENDENCY),
        ("Reservation", Waits.RESERVATION),
        ("ReqNodeNotAvail(Nodes reserved for maintenance)", Waits.RESOURCES),
        ("ReqNodeNotAvail, Reserved for maintenance", Waits.RESERVATION),
        ("ReqNodeNotAvail,_May_be_reserved_for_other_job", Waits.RESERVATION),
        ("launch failed requeued held", Waits.HELD),
        ("QOSUsageThreshold", Waits.QUOTA),
        ("SomethingNew", Waits.OTHER),
    ],
)
def test_a_reason_has_a_kind_and_keeps_slurms_word(reason: str, kind: Waits) -> None:
    sentence, found = classify(reason)
    assert found is kind
    assert reason in sentence


def test_what_waiting_does_not_help_is_said() -> None:
    for reason in ("AssocMaxWallDurationPerJobLimit", "QOSMaxCpuPerNode", "AssocMaxGRESPerJob"):
        assert "waiting does not help" in classify(reason)[0]
    assert "waiting does not help" not in classify("QOSMaxJobsPerUserLimit")[0]
    assert classify("QOSMinGRES")[0].startswith("it asks for less than")


def test_the_nodes_that_higher_partitions_took_are_no_reservation() -> None:
    """Slurm's longest reason, as squeue brackets it."""
    told = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    assert classify(f"({told})") == (f"the nodes that it needs are down, drained or reserved ({told})", Waits.RESOURCES)


def test_every_kind_of_reason_is_told() -> None:
    assert {kind for kind, _ in SENTENCES.values()} == set(Waits)
