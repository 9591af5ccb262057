"""The ingest tick: it stores every point once, and a missing answer never ends a run."""

from dataclasses import replace

import pytest
from sqlalchemy import delete, select

from contract.folder.events import Failed, Finished, Points, Saved, Started
from contract.folder.rank_failure import RankFailure, RankRoster
from contract.folder.run_folder import ABANDONED, RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Alive, Unknown, gone
from scheduler.context import Context
from scheduler.events.tail import MAX_BYTES, has_grown, read_tail
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from store import clusters
from store.metrics import curves
from store.session import snapshot, transaction
from store.tables.clusters import Cluster
from store.tables.runs import Job, Move
from tests.testing.clusters import Puppet
from tests.testing.events import report
from tests.testing.runs import job_of, read, sentence

STARTED = Started(attempt=1, at=0.0, world=2, hosts=["h", "h"], device="cpu", steps=4, versions={})
FINISHED = Finished(attempt=1, at=9.0, step=4)
FAILED = Failed(attempt=1, at=9.0, rank=1, reason="rank 1 on h: ValueError: no")


def points_at(step: int) -> Points:
    return Points(attempt=1, at=float(step), step=step, values={"loss": 1.0 / step, "heldout_accuracy": None})


@pytest.fixture
def run_id(context: Context, run_ids: list[int]) -> int:
    submit_queued(context)
    return run_ids[0]


def losses(context: Context, run_id: int) -> list[int]:
    with snapshot(context.engine) as db:
        return curves.of_run(db, run_id, ["loss"], after=-1, limit=1000)[0]["loss"][0]


def test_a_run_moves_through_its_states_by_its_events(context: Context, run_id: int) -> None:
    report(context, run_id, STARTED, points_at(1), points_at(2))
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.step, run.latest) == (State.RUNNING, 2, {"loss": 0.5, "heldout_accuracy": None})
    report(context, run_id, points_at(3), points_at(4), FINISHED)
    ingest(context)
    assert (read(context, run_id).state, losses(context, run_id)) == (State.DONE, [1, 2, 3, 4])
    moves = select(Move.new).where(Move.run_id == run_id).order_by(Move.id)
    with snapshot(context.engine) as db:
        assert [*db.scalars(moves)] == ["queued", "submitting", "pending", "running", "done"]


def test_the_pending_reason_is_cleared_when_the_run_starts(context: Context, run_id: int) -> None:
    """Forces the order: the run starts before the next poll, so it would be shown as on hold while it trains."""
    with transaction(context.engine) as db:
        job = db.get_one(Job, job_of(context, run_id).id)
        job.pending_reason, job.pending_detail = PendingReason.HELD_BY_USER, "JobHeldUser"
    report(context, run_id, STARTED)
    ingest(context)
    job = job_of(context, run_id)
    assert (read(context, run_id).state, job.pending_reason, job.pending_detail) == (State.RUNNING, None, None)


def test_a_half_written_line_is_read_when_it_is_complete(context: Context, run_id: int) -> None:
    line = points_at(1).model_dump_json()
    report(context, run_id, STARTED, torn=line[:20])
    ingest(context)
    assert losses(context, run_id) == []
    report(context, run_id, torn=line[20:] + "\n")
    ingest(context)
    assert losses(context, run_id) == [1]


def test_a_line_that_is_no_event_is_skipped(context: Context, run_id: int) -> None:
    """Forces the fault: a line is torn by a crash, and another line is of a kind that only newer trainers write."""
    report(
        context,
        run_id,
        STARTED,
        points_at(1),
        torn='{"kind": "poi\n{"kind": "sang", "attempt": 1, "at": 0}\n\x00\xff\n',
    )
    report(context, run_id, points_at(2))
    ingest(context)
    assert (read(context, run_id).state, losses(context, run_id)) == (State.RUNNING, [1, 2])


def test_the_last_points_of_an_ended_job_are_stored_before_its_run_fails(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    report(context, run_id, STARTED, points_at(1), points_at(2))
    puppet.answers["job1"] = gone(EndKind.NODE_FAILED)._replace(cause=ExitCause.FAILURE)
    ingest(context)
    run = read(context, run_id)
    assert (run.state, losses(context, run_id)) == (State.FAILED, [1, 2])
    assert sentence(run) == "a node of the job failed; training never started, see the log"


def test_a_run_that_reported_its_end_is_done_when_its_job_is_gone(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    report(context, run_id, STARTED, points_at(1), FINISHED)
    puppet.answers["job1"] = gone(EndKind.COMPLETED)._replace(cause=ExitCause.FAILURE)
    ingest(context)
    assert read(context, run_id).state == State.DONE


def test_the_costs_of_a_checkpoint_are_stored_and_those_of_a_failed_one_are_not(context: Context, run_id: int) -> None:
    whole = Saved(attempt=1, at=0.0, step=3, stall_s=0.5, write_s=2.0, size_bytes=100)
    report(
        context,
        run_id,
        whole,
        Saved(attempt=1, at=0.0, step=4, stall_s=9.0, write_s=9.0, size_bytes=0, error="disk full"),
    )
    ingest(context)
    with snapshot(context.engine) as db:
        stored, _ = curves.of_run(db, run_id, ["checkpoint_stall_s", "checkpoint_bytes"], after=-1, limit=10)
    assert stored == {"checkpoint_stall_s": ([3], [0.5]), "checkpoint_bytes": ([3], [100.0])}


def test_the_first_rank_that_failed_gives_the_reason(context: Context, puppet: Puppet, run_id: int) -> None:
    folder = context.folder_of(read(context, run_id))
    folder.claim(1, "job1")
    folder.write_roster(1, RankRoster(hosts=["h", "h"], ahead_s=[0.0, 0.0]))
    folder.write_rank_failure(1, RankFailure(at=20.0, rank=0, host="h", reason="rank 0 on h: connection closed"))
    folder.write_rank_failure(1, RankFailure(at=10.0, rank=1, host="h", reason="rank 1 on h: ValueError: no"))
    puppet.answers["job1"] = gone(EndKind.EXITED, exit_code=1)
    ingest(context)
    assert sentence(read(context, run_id)) == "rank 1 on h: ValueError: no"


def test_the_cluster_gives_the_reason_when_ranks_report_lost_connections_alone(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    folder = context.folder_of(read(context, run_id))
    folder.claim(1, "job1")
    folder.write_rank_failure(
        1, RankFailure(at=10.0, rank=0, host="h", reason="rank 0 on h: lost the connection to another rank", echo=True)
    )
    puppet.answers["job1"] = gone(EndKind.OUT_OF_MEMORY)._replace(cause=ExitCause.FAILURE)
    ingest(context)
    reason = "the job ran out of memory; rank 0 on h: lost the connection to another rank"
    assert sentence(read(context, run_id)) == reason


def test_the_log_gives_the_reason_of_a_rank_that_was_killed(context: Context, puppet: Puppet, run_id: int) -> None:
    """Forces the fault: rank 1 is killed; rank 0 on another host loses the connection, and srun prints the signal."""
    folder = context.folder_of(read(context, run_id))
    folder.claim(1, "job1")
    folder.write_rank_failure(
        1, RankFailure(at=10.0, rank=0, host="g", reason="rank 0 on g: rank 1 died", echo=True, lost=[1])
    )
    folder.log.write_text("srun: error: h: task 1: Segmentation fault\n")
    puppet.answers["job1"] = gone(EndKind.FAILED)
    ingest(context)
    assert sentence(read(context, run_id)) == "the job failed; rank 1 on h: Segmentation fault"


def test_the_reason_of_a_job_that_never_trained_quotes_its_log(context: Context, puppet: Puppet, run_id: int) -> None:
    context.folder_of(read(context, run_id)).log.write_text(
        "1: slurmstepd-h: error: execve(): /no/python: No such file\n"
    )
    puppet.answers["job1"] = gone(EndKind.FAILED)
    ingest(context)
    reason = "slurmstepd-h: error: execve(): /no/python: No such file"
    assert sentence(read(context, run_id)) == f"the job failed; training never started: rank 1 on h: {reason}"


@pytest.mark.parametrize("cause", [ExitCause.FAILURE, ExitCause.NODE_FAILURE])
def test_a_run_ends_when_its_lost_host_left_empty_files(
    context: Context, puppet: Puppet, run_id: int, cause: ExitCause
) -> None:
    """Forces the fault: the host loses power before the contents of the claim and of a rank's note are on the disk."""
    report(context, run_id, STARTED, points_at(1))
    attempts = context.folder_of(read(context, run_id)).path / "attempts"
    for name in ("1.json", "1.rank-0.json", "1.end", "1.ranks"):
        (attempts / name).touch()
    puppet.answers["job1"] = gone(EndKind.NODE_FAILED)._replace(cause=cause)
    ingest(context)
    run = read(context, run_id)
    assert run.state == (State.FAILED if cause is ExitCause.FAILURE else State.QUEUED)
    assert (sentence(run) or "").startswith("a node of the job failed, and the run reported no reason")


def test_the_job_of_a_run_that_reports_a_failure_is_ended(context: Context, puppet: Puppet, run_id: int) -> None:
    report(context, run_id, STARTED, FAILED)
    ingest(context)
    assert (read(context, run_id).state, sentence(read(context, run_id))) == (
        State.FAILED,
        "rank 1 on h: ValueError: no",
    )
    assert puppet.cancelled == [("job1", False)]


def test_an_attempt_whose_host_failed_before_its_start_cannot_start_later(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    """Forces the fault: a host is cut off and counts as failed; the host returns, and its job would train."""
    puppet.answers["job1"] = gone(EndKind.NODE_FAILED)
    ingest(context)
    assert context.folder_of(read(context, run_id)).claim(1, "job1") == ABANDONED
    assert read(context, run_id).state == State.QUEUED


def test_a_missing_answer_is_stored_with_its_first_moment_and_ends_no_run(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    """Forces the fault: the cluster does not answer, for a while."""
    report(context, run_id, STARTED, points_at(1))
    puppet.answers["job1"] = Unknown("squeue gave no answer")
    ingest(context)
    since = job_of(context, run_id).unknown_since
    report(context, run_id, points_at(2))
    ingest(context)
    assert (read(context, run_id).state, losses(context, run_id)) == (State.RUNNING, [1, 2])
    assert job_of(context, run_id).unknown_since == since
    assert since is not None
    puppet.answers["job1"] = Alive()
    ingest(context)
    assert job_of(context, run_id).unknown_since is None


def test_a_job_on_the_cluster_of_another_worker_does_not_become_unknown(context: Context, run_id: int) -> None:
    """Forces the fault: a worker without the cluster ingests as well; the worker with the cluster would contradict."""
    report(context, run_id, STARTED, points_at(1))
    without = replace(context, clusters={})
    with transaction(context.engine) as db:
        clusters.store_report(db, "local", None, None)
    ingest(without)
    assert (job_of(context, run_id).unknown_since, losses(context, run_id)) == (None, [1])
    with transaction(context.engine) as db:
        db.execute(delete(Cluster))
    ingest(without)
    assert job_of(context, run_id).unknown_since is not None, "no worker has the cluster"


def test_events_of_an_earlier_attempt_change_no_state(context: Context, run_id: int) -> None:
    report(context, run_id, Finished(attempt=0, at=0.0, step=4))
    ingest(context)
    assert read(context, run_id).state == State.PENDING


def test_an_ingest_tick_that_died_before_its_commit_is_repeated_without_harm(
    context: Context, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the process ends after the points were written and before the transaction's end."""
    report(context, run_id, STARTED, points_at(1), points_at(2))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("scheduler.events.apply._carry_out", die)
        with pytest.raises(KeyboardInterrupt):
            ingest(context)
    assert losses(context, run_id) == []
    ingest(context)
    assert (losses(context, run_id), read(context, run_id).state) == ([1, 2], State.RUNNING)


def test_a_long_backlog_is_read_in_parts_to_its_end(context: Context, puppet: Puppet, run_id: int) -> None:
    """Forces a backlog: no worker runs while a run writes megabytes, until its job has ended."""
    folder = context.folder_of(read(context, run_id))
    wide = Points(attempt=1, at=0.0, step=1, values={f"layer{n}": 1.0 for n in range(100)})
    count = 2 * MAX_BYTES // len(wide.model_dump_json())
    report(
        context, run_id, STARTED, *(wide.model_copy(update={"step": step}) for step in range(1, count + 1)), FINISHED
    )
    assert read_tail(folder, 0).more
    puppet.answers["job1"] = gone(EndKind.COMPLETED)._replace(cause=ExitCause.FAILURE)
    for _ in range(20):  # a tick has a limited time
        ingest(context)
    assert (read(context, run_id).state, read(context, run_id).step) == (State.DONE, count)


def test_an_unreadable_folder_does_not_delay_other_runs(
    context: Context, run_ids: list[int], run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the first run's events cannot be read."""
    report(context, run_ids[1], STARTED, points_at(1))
    broken = context.folder_of(read(context, run_id))

    def fail(folder: RunFolder, cursor: int) -> bool:
        if folder == broken:
            raise OSError("Input/output error")
        return has_grown(folder, cursor)

    monkeypatch.setattr("scheduler.events.read_report.has_grown", fail)
    ingest(context)
    assert read(context, run_ids[1]).state == State.RUNNING
