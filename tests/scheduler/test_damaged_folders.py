"""Damaged run folders: runs end in the right words, what is unread is counted, and repeated steps are stored."""

import shutil

import pytest
from sqlalchemy import select

from contract.folder.events import Finished, Noticed, Points, Resumed, Started
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.reason import OutputMissing, ReportDamaged
from contract.lifecycle.state import State
from contract.lifecycle.unread import Unread
from scheduler.clusters.cluster import Gone, gone
from scheduler.context import Context
from scheduler.events import folder_state
from scheduler.outcome.exit_cause import LINGER
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from store.session import snapshot, transaction
from store.tables.runs import Restart, Run
from tests.testing.clusters import Far, Puppet
from tests.testing.events import STARTED, report
from tests.testing.runs import job_of, make_older, read, report_gone, sentence

COMPLETED = gone(EndKind.COMPLETED, "exit code 0:0", exit_code=0)
FINISHED = Finished(attempt=1, at=9.0, step=4).model_dump_json()


def started(attempt: int) -> Started:
    return STARTED.model_copy(update={"attempt": attempt})


def points(*steps: int, attempt: int = 1) -> list[Points]:
    return [Points(attempt=attempt, at=float(step), step=step, values={"loss": 1.0}) for step in steps]


def restarts(context: Context) -> list[tuple[int, int, int]]:
    with snapshot(context.engine) as db:
        return [(row.attempt, row.step, row.lost_steps) for row in db.scalars(select(Restart))]


def end(context: Context, far: Far, run_id: int, answer: Gone) -> Run:
    """Let the cluster report an end, and wait until no shared file system hides a line any more."""
    report_gone(context, far, run_id, answer)
    if read(context, run_id).state is not State.RUNNING:
        return read(context, run_id)
    make_older(context, run_id, observed_at=LINGER.total_seconds() + 1)
    ingest(context)
    return read(context, run_id)


def steps_of(context: Context, run_id: int, steps: int) -> None:
    with transaction(context.engine) as db:
        db.get_one(Run, run_id).steps = steps


@pytest.mark.parametrize("cut", [10, 40, len(FINISHED) - 2])
def test_a_run_whose_report_of_its_end_is_torn_is_done(
    far_context: Context, far: Far, far_run_id: int, cut: int
) -> None:
    """Before: "failed, the run reported no reason", with 200 of 200 steps and COMPLETED 0:0."""
    steps_of(far_context, far_run_id, 4)
    report(far_context, far_run_id, STARTED, *points(1, 2, 3, 4), torn=FINISHED[:cut])
    ingest(far_context)
    run = end(far_context, far, far_run_id, COMPLETED)
    assert (run.state, run.reason, run.step) == (State.DONE, ReportDamaged(steps=4), 4)
    assert run.unread == Unread(lines=1, size_bytes=cut)
    assert "only the run's report of its end is damaged" in str(sentence(run))


def test_a_last_line_of_other_bytes_counts_as_a_torn_one(far_context: Context, far: Far, far_run_id: int) -> None:
    steps_of(far_context, far_run_id, 4)
    report(far_context, far_run_id, STARTED, *points(1, 2, 3, 4), torn="\0" * 60 + "\n")
    ingest(far_context)
    run = end(far_context, far, far_run_id, COMPLETED)
    assert (run.state, run.unread) == (State.DONE, Unread(lines=1, size_bytes=60))


@pytest.mark.parametrize(("last", "shown"), [(3, 4), (4, 4), (2, 2)])
def test_a_program_that_counts_from_0_and_is_done_has_taken_all_its_steps(
    far_context: Context, far_run_id: int, last: int, shown: int
) -> None:
    steps_of(far_context, far_run_id, 4)
    report(far_context, far_run_id, STARTED, *points(*range(last + 1)))
    ingest(far_context)
    assert read(far_context, far_run_id).step == last
    report(far_context, far_run_id, torn=f"{FINISHED}\n")
    ingest(far_context)
    run = read(far_context, far_run_id)
    assert (run.state, run.step) == (State.DONE, shown)


@pytest.mark.parametrize(
    ("steps", "torn", "answer"),
    [
        (5, FINISHED[:40], COMPLETED),
        (4, FINISHED.replace("finished", "points")[:60], COMPLETED),
        (4, FINISHED[:60], gone(EndKind.FAILED, "exit code 1:0", exit_code=1)),
        (0, FINISHED[:10], COMPLETED),
    ],
    ids=["fewer steps", "another line", "a job that failed", "steps that are not known"],
)
def test_a_run_fails_where_something_contradicts_its_end(
    far_context: Context, far: Far, far_run_id: int, steps: int, torn: str, answer: Gone
) -> None:
    steps_of(far_context, far_run_id, steps)
    report(far_context, far_run_id, STARTED, *points(1, 2, 3, 4), torn=torn)
    ingest(far_context)
    run = end(far_context, far, far_run_id, answer)
    of = f" of {steps}" if steps else ""
    words = f"the last line of its events is damaged, and step 4{of} is the last one that is stored"
    assert (run.state, words in str(sentence(run))) == (State.FAILED, True), sentence(run)


def test_the_outputs_of_a_run_with_a_torn_report_are_checked(far_context: Context, far: Far, far_run_id: int) -> None:
    steps_of(far_context, far_run_id, 4)
    with transaction(far_context.engine) as db:
        run = db.get_one(Run, far_run_id)
        run.spec = {**run.spec, "outputs": {"model": "out/model.pt"}}
    report(far_context, far_run_id, STARTED, *points(1, 2, 3, 4), torn=FINISHED[:40])
    ingest(far_context)
    run = end(far_context, far, far_run_id, COMPLETED)
    assert run.state is State.FAILED
    assert isinstance(run.reason, OutputMissing)


@pytest.mark.parametrize(
    "answer", [gone(EndKind.FAILED, "exit code 1:0", exit_code=1), COMPLETED, gone(EndKind.UNLISTED)]
)
def test_a_run_whose_folder_was_deleted_says_so(far_context: Context, far: Far, far_run_id: int, answer: Gone) -> None:
    """Before: "training never started", though step 3 was stored; and a lost job ended its run never."""
    report(far_context, far_run_id, STARTED, *points(1, 2, 3))
    ingest(far_context)
    shutil.rmtree(far_context.folder_of(read(far_context, far_run_id)).path)
    run = end(far_context, far, far_run_id, answer)
    assert run.state is (State.QUEUED if answer.cause is ExitCause.LOST else State.FAILED)
    assert "the run's folder is gone, and step 3 of" in str(sentence(run))
    assert run.unread is not None
    assert (run.unread.folder_gone, run.unread.lost_history) == (True, 3)


def test_a_folder_that_is_gone_for_a_while_is_told_while_the_job_runs(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_queued(context)
    run_id = run_ids[0]
    report(context, run_id, STARTED, *points(1, 2))
    ingest(context)
    path = context.folder_of(read(context, run_id)).path
    path.rename(f"{path}-away")
    ingest(context)
    assert read(context, run_id).unread is None, "a shared file system may not show it for a moment"
    monkeypatch.setattr(folder_state, "MISSING_S", 0.0)
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.unread, run.cursor) == (State.RUNNING, Unread(folder_gone=True, lost_history=2), 0)


@pytest.mark.parametrize(("resumed", "first"), [(False, 1), (True, 1), (False, 31)])
def test_steps_that_a_retry_in_a_new_folder_repeats_are_stored(
    far_context: Context, far: Far, far_run_id: int, resumed: bool, first: int
) -> None:
    """The next attempt finds no events of the one before, so it reports no restart, or that it lost nothing."""
    report(far_context, far_run_id, STARTED, *points(*range(1, 133)))
    ingest(far_context)
    shutil.rmtree(far_context.folder_of(read(far_context, far_run_id)).path)
    assert end(far_context, far, far_run_id, gone(EndKind.NODE_FAILED)).state is State.QUEUED
    with transaction(far_context.engine) as db:
        db.get_one(Run, far_run_id).not_before = None
    submit_queued(far_context)
    own = [Resumed(attempt=2, at=0.0, step=0, lost_steps=0)] if resumed else []
    constant = Points(attempt=2, at=0.0, step=0, values={"hp_metric": -1.0})
    report(far_context, far_run_id, started(2), *own, constant)
    ingest(far_context)
    report(far_context, far_run_id, *points(first, attempt=2))
    ingest(far_context)
    report(far_context, far_run_id, *points(first + 1, first + 2, attempt=2))
    ingest(far_context)
    run = read(far_context, far_run_id)
    assert (run.state, run.step, restarts(far_context)) == (State.RUNNING, 132, [(2, first - 1, 133 - first)])
    assert run.unread == Unread(folder_gone=True)


def test_a_new_folder_of_a_later_attempt_is_read_from_its_beginning(
    far_context: Context, far: Far, far_run_id: int
) -> None:
    """The folder was deleted while no job ran: the new file is shorter than what was read of the old one."""
    report(far_context, far_run_id, STARTED, *points(1, 2, 3, 4, 5))
    ingest(far_context)
    end(far_context, far, far_run_id, gone(EndKind.NODE_FAILED))
    shutil.rmtree(far_context.folder_of(read(far_context, far_run_id)).path)
    with transaction(far_context.engine) as db:
        db.get_one(Run, far_run_id).not_before = None
    submit_queued(far_context)
    report(far_context, far_run_id, started(2), *points(1, attempt=2))
    ingest(far_context)
    assert (read(far_context, far_run_id).state, restarts(far_context)) == (State.RUNNING, [(2, 0, 5)])


def test_what_the_agent_noticed_of_another_tracker_is_stored(context: Context, run_ids: list[int]) -> None:
    submit_queued(context)
    report(context, run_ids[0], STARTED, Noticed(attempt=1, at=1.0, metrics="this run logs to wandb"))
    ingest(context)
    run = read(context, run_ids[0])
    assert (run.state, run.unread) == (State.RUNNING, Unread(metrics="this run logs to wandb"))


def test_lines_that_cannot_be_read_are_counted_of_all_files(context: Context, run_ids: list[int]) -> None:
    """Random bytes in the middle: before, only the worker's log named the lost events."""
    submit_queued(context)
    run_id = run_ids[0]
    report(context, run_id, STARTED, *points(1), torn="\x01garbage\n{half\n")
    report(context, run_id, *points(2))
    folder = context.folder_of(read(context, run_id)).path / "points"
    folder.mkdir()
    (folder / "rank-1.jsonl").write_text("nothing\n")
    ingest(context)
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.step, run.unread) == (State.RUNNING, 2, Unread(lines=3, size_bytes=8 + 5 + 7))
    assert job_of(context, run_id).exit_cause is None


def test_a_record_of_outputs_that_cannot_be_read_is_counted(context: Context, run_ids: list[int]) -> None:
    """The spec names no outputs, so the run is done; its checkpoints are not in the list of artifacts."""
    submit_queued(context)
    run_id = run_ids[0]
    report(context, run_id, STARTED, *points(1), Finished(attempt=1, at=9.0, step=4, outputs=True))
    (context.folder_of(read(context, run_id)).path / "outputs.json").write_text('{"attempt": 1, "artifacts": [{"na')
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.unread) == (State.DONE, Unread(lines=1, size_bytes=33))
