"""Tests of `bigbatch why`."""

import json

import pytest

from bigbatch.client import Client
from contract.folder.events import Points
from contract.folder.rank_failure import RankFailure
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.reason import Begun, JobEnded, LimitTooShort, Retried, RunPaused
from contract.lifecycle.state import State
from contract.lifecycle.unread import Unread
from store import transitions
from store.metrics import points
from store.session import transaction
from store.tables.runs import Run
from store.transitions import JobExit, Transition
from tests.testing import seed_runs
from tests.testing.command import SPEC, Call, Site
from tests.testing.stored_runs import add_job, end_attempt, find_current_job

pytestmark = pytest.mark.ring("quick")

TRACE = 'Traceback\n  File "data.py", line 5, in batch\n    read(path)\nOSError: the disk is gone\n'


def fall(site: Site, run_id: int) -> None:
    """Let rank 1 fall over its data, and rank 0 see it leave."""
    seed_runs.move(site, run_id, [*seed_runs.TO_RUNNING])
    folder = seed_runs.log_of(site, run_id)
    (folder.path / "attempts").mkdir()
    folder.write_rank_failure(
        1, RankFailure(at=99.0, rank=1, host="n2", reason="rank 1 on n2: OSError: the disk is gone", trace=TRACE)
    )
    folder.write_rank_failure(
        1, RankFailure(at=99.0, rank=0, host="n1", reason="rank 0 on n1: rank 1 died", echo=True, lost=[1])
    )
    with transaction(site.engine) as db:
        end_attempt(db, db.get_one(Run, run_id), ExitCause.FAILURE, "rank 1 on n2: OSError: the disk is gone")
    seed_runs.move(site, run_id, [State.FAILED], reason="rank 1 on n2: OSError: the disk is gone")


def test_why_names_the_first_rank_its_host_the_kind_and_the_evidence(client: Client, site: Site, call: Call) -> None:
    run_id = client.create(SPEC).runs[0]
    fall(site, run_id)
    lines = call("why", run_id)
    first, source, *rest = lines.out.splitlines()
    assert lines.code == 0
    assert first.startswith("first to fail: rank 1 on n2 at ")
    assert first.endswith(" UTC: python error")
    assert source == "evidence from rank 1:"
    assert rest[:3] == ['    File "data.py", line 5, in batch', "      read(path)", "    OSError: the disk is gone"]
    assert rest[3] == "then:"
    assert rest[4].endswith(" s  rank 0 on n1: rank 1 died")
    assert json.loads(call("why", run_id, "--json").out)["rank"] == 1


def test_show_and_why_tell_what_could_not_be_read(client: Client, site: Site, call: Call) -> None:
    made = client.create(SPEC)
    with transaction(site.engine) as db:
        db.get_one(Run, made.runs[0]).unread = Unread(lines=3, size_bytes=1210)
        db.get_one(Run, made.runs[1]).unread = Unread(lost_history=7)
    words = "3 lines (1,210 bytes) of the run's files could not be read, and are left out"
    assert call("show", made.id).out.splitlines()[-1] == f"run {made.runs[0]}: {words}"
    assert call("why", made.runs[0]).out.splitlines()[0] == words
    first, second = (client.run(run_id).unread for run_id in made.runs[:2])
    assert first is not None
    assert (first.lines, first.size_bytes, first.folder_gone, second) == (3, 1210, False, None)


def test_a_run_whose_metric_is_nan_says_so_in_why_show_list_and_tables(client: Client, site: Site, call: Call) -> None:
    made = client.create(SPEC)
    run_id = made.runs[0]
    seed_runs.move(site, run_id, [*seed_runs.TO_RUNNING, State.DONE])
    with transaction(site.engine) as db:
        for step, value in enumerate([0.5, float("nan"), float("nan")], 119):
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=step, values={"train/loss": value})])
    words = "train/loss is nan from step 120 on"
    assert call("why", run_id).out.splitlines()[0] == words
    assert f"run {run_id} is done: " in call("why", run_id).out
    (line,) = [line for line in call("show", made.id).out.splitlines() if words in line]
    assert "done, diverged" in line
    assert "1 diverged" in call("list").out
    assert "done, diverged" in call("runs", "diverged = true", "--column", "step").out
    rows = client.table_rows("last(`train/loss`) = nan", columns=["last(`train/loss`)"])
    assert [(row["id"], str(row["last(`train/loss`)"])) for row in rows] == [(run_id, "nan")]
    found = client.run(run_id).diverged
    assert found
    assert (found.metric, found.step, found.value) == ("train/loss", 120, "nan")
    assert client.experiment(made.id).diverged == 1


def test_another_tracker_is_named_until_the_run_has_a_metric(client: Client, site: Site, call: Call) -> None:
    made = client.create(SPEC)
    words = "this run logs to wandb (wandb/run-1), and Bigbatch reads no metric of it"
    with transaction(site.engine) as db:
        db.get_one(Run, made.runs[0]).unread = Unread(metrics=words)
        db.get_one(Run, made.runs[0]).latest = {"compute_s": 0.5, "system/n1/cpu": 0.1}
        db.get_one(Run, made.runs[1]).unread = Unread(metrics=words)
        db.get_one(Run, made.runs[1]).latest = {"loss": 0.5}
    assert call("show", made.id).out.splitlines()[-1] == f"run {made.runs[0]}: {words}"
    assert call("why", made.runs[0]).out.splitlines()[0] == words
    assert words not in call("why", made.runs[1]).out


def test_why_of_a_task_that_never_began_names_no_rank(client: Client, site: Site, call: Call) -> None:
    run_id = client.create(SPEC).runs[0]
    seed_runs.move(site, run_id, seed_runs.TO_RUNNING[:-1])
    never = JobEnded(end=JobEnd(kind=EndKind.LAUNCH_FAILED), begun=Begun.NEVER)
    with transaction(site.engine) as db:
        run = db.get_one(Run, run_id)
        transitions.apply(db, run, run.jobs[0], Transition(State.FAILED, never, JobExit(ExitCause.NODE_FAILURE, never)))
    lines = call("why", run_id).out.splitlines()
    assert lines == ["no rank had begun: the job could not be launched; training never started, see the log"]


def test_why_of_an_experiment_has_a_line_for_each_run_that_failed(client: Client, site: Site, call: Call) -> None:
    made = client.create(SPEC)
    assert call("why", "-e", made.id).out == "no run of this experiment has failed\n"
    fall(site, made.runs[1])
    lines = call("why", "--experiment", made.id).out
    assert lines.startswith("1 run failed: 1 python error\n")
    assert "OSError: the disk is gone" in lines
    assert [run["id"] for run in json.loads(call("why", "-e", made.id, "--json").out)] == [made.runs[1]]


LAST: dict[State, tuple[list[State], str]] = {
    State.QUEUED: ([], "the run is not submitted to local yet"),
    State.SUBMITTING: ([State.SUBMITTING], "the run is being submitted to local"),
    State.PENDING: (seed_runs.TO_RUNNING[:-1], "the job has started, and its program loads its libraries"),
    State.RUNNING: (seed_runs.TO_RUNNING, "0 of {steps} steps are done"),
    State.PAUSED: (
        [*seed_runs.TO_RUNNING, State.PAUSED],
        "a checkpoint is saved; the run is queued again after the end of its job",
    ),
    State.DONE: ([*seed_runs.TO_RUNNING, State.DONE], "all steps are done, at step 0 of {steps}"),
    State.FAILED: ([State.SUBMITTING, State.FAILED], "no reason is known"),
    State.CANCELLED: ([State.CANCELLED], "the run was stopped"),
}


@pytest.mark.parametrize("state", list(State))
def test_why_of_a_run_of_which_nothing_failed_says_how_it_is(
    client: Client, site: Site, call: Call, state: State
) -> None:
    run_id = client.create(SPEC).runs[0]
    moves, story = LAST[state]
    seed_runs.move(site, run_id, moves)
    with transaction(site.engine) as db:
        if job := find_current_job(db, db.get_one(Run, run_id)):
            job.external_id = "77"
    steps = client.run(run_id).steps
    assert call("why", run_id).out == f"run {run_id} is {state}: {story.format(steps=steps)}\n"


def test_why_of_a_run_that_ended_well_names_the_attempts_before(client: Client, site: Site, call: Call) -> None:
    run_id = client.create(SPEC).runs[0]
    seed_runs.move(site, run_id, seed_runs.TO_RUNNING)
    with transaction(site.engine) as db:
        run = db.get_one(Run, run_id)
        run.step = run.steps
        end_attempt(db, run, ExitCause.PREEMPTED, "another job took its place")
        add_job(db, run)
        end_attempt(db, run, ExitCause.DONE, None)
    seed_runs.move(site, run_id, [State.DONE])
    assert call("why", run_id).out.endswith("; attempt 1 ended early: preempted\n")
    assert call("why", 999_999).code == 1


def test_why_of_a_run_that_paused_before_its_time_limit_names_no_failure(
    client: Client, site: Site, call: Call
) -> None:
    run_id = client.create(SPEC).runs[0]
    seed_runs.move(site, run_id, [*seed_runs.TO_RUNNING, State.PAUSED])
    srun_line = "srun: error: n1: task 0: Exited with exit code 4\n"
    seed_runs.log_of(site, run_id).log.write_text(srun_line)
    paused = RunPaused(step=7, message="SIGUSR2 to rank 0 on n1", cause=ExitCause.TIME_LIMIT, trained_s=45.0)
    sentence = "paused at step 7, before the job's time limit (SIGUSR2 to rank 0 on n1)"
    with transaction(site.engine) as db:
        job = end_attempt(db, db.get_one(Run, run_id), ExitCause.TIME_LIMIT, None)
        job.exit_reason, job.is_gone = paused, True
    seed_runs.move(site, run_id, [State.QUEUED], reason=Retried(after=paused, attempt=2))
    assert call("why", run_id).out == f"run {run_id} is queued: {sentence}; attempt 2 follows\n"
    too_short = LimitTooShort(after=paused, minutes=1, steps=1, steps_left=37, trained_s=4.0)
    seed_runs.move(site, run_id, [State.SUBMITTING, State.FAILED], reason=too_short)
    explained = call("why", run_id).out
    assert explained.startswith(f"run {run_id} is failed: {sentence}; the limit of 1 min is too short: ")
    assert "submit the run with a larger resources.minutes" in explained


def test_why_prints_the_stacks_of_each_rank_on_request(client: Client, site: Site, call: Call) -> None:
    run_id = client.create(SPEC).runs[0]
    assert "no rank has left stacks" in call("why", run_id, "--stacks").out
    fall(site, run_id)
    attempts = seed_runs.log_of(site, run_id).path / "attempts"
    for rank in range(70):  # more than a page
        (attempts / f"1.stacks-{rank}.txt").write_text(f'File "train.py", line {rank}\x1b[2J\n')
    shown = call("why", run_id, "--stacks").out
    assert "rank 1 on n2" in shown.splitlines()[0]
    assert "rank 69, written 20" in shown
    assert '    File "train.py", line 69^[[2J\n' in shown
    assert len(json.loads(call("why", run_id, "--stacks", "--json").out)) == 70
