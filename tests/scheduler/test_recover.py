"""The recover tick: it adopts the jobs of unconfirmed submissions, and queues the runs that surely have none."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from contract.folder.run_folder import ABANDONED, RunFolder
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from scheduler.clusters.cluster import JobRequest, NoAnswerError, UnknownErrorMessage, gone
from scheduler.context import Context, Memory, job_name
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.ticks.recover import LEASE, recover
from store import submissions, transitions
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Job, Run
from tests.testing.clusters import Puppet
from tests.testing.runs import IMMEDIATELY, job_of, move, read, sentence, states
from tests.testing.stored_runs import current_job


def take(context: Context, *run_ids: int) -> None:
    """Take each run alone, as a worker does before it writes folders and calls the cluster."""
    with transaction(context.engine) as db:
        for run_id in run_ids:
            run = db.get_one(Run, run_id)
            submissions.take(db, [run], job_name(run.key, run.attempt + 1))


def request_of(context: Context, run_id: int) -> JobRequest:
    run = read(context, run_id)
    assert run.current_job is not None
    return context.request_of(run, run.current_job)


def test_a_job_is_adopted_by_its_name_when_the_cluster_accepted_it_and_sbatch_timed_out(
    context: Context, puppet: Puppet, run_ids: list[int]
) -> None:
    """Forces the fault: the cluster accepts the job and the answer is lost."""
    puppet.trouble = NoAnswerError("Socket timed out on send/recv operation")
    submit_queued(context)
    assert states(context) == [State.SUBMITTING] * 3
    submit_queued(context)
    recover(context, IMMEDIATELY)
    assert states(context) == [State.PENDING] * 3
    assert len(puppet.jobs) == 3


def test_a_lost_submission_is_made_again(context: Context, puppet: Puppet, run_ids: list[int]) -> None:
    """Forces the fault: the worker dies after it took the run and before it called the cluster."""
    take(context, run_ids[0])
    recover(context)
    assert read(context, run_ids[0]).state == State.SUBMITTING, "the worker may only be slow until its lease expires"
    recover(context, IMMEDIATELY)
    assert read(context, run_ids[0]).state == State.QUEUED
    submit_queued(context)
    assert (read(context, run_ids[0]).state, read(context, run_ids[0]).attempt) == (State.PENDING, 2)


def test_a_new_worker_takes_the_age_of_a_lease_from_the_database(context: Context, run_ids: list[int]) -> None:
    """Forces the fault: the worker died a while ago, and no other worker has watched its lease since."""
    take(context, run_ids[0])
    for ago_s, state in ((-600, State.SUBMITTING), (5, State.SUBMITTING), (LEASE.total_seconds() + 1, State.QUEUED)):
        with transaction(context.engine) as db:
            renewed_at = now() - timedelta(seconds=ago_s)
            db.execute(update(Job).where(Job.run_id == run_ids[0]).values(lease_renewed_at=renewed_at))
        recover(replace(context, memory=Memory()))
        assert read(context, run_ids[0]).state == state


def test_an_error_message_that_is_not_known_ends_the_run_after_three_submissions_with_sbatchs_own_sentence(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: sbatch refuses the job with a sentence that the service does not know."""
    monkeypatch.setattr(puppet, "find", lambda names: dict.fromkeys(names))
    puppet.trouble = UnknownErrorMessage("sbatch: the moon is full")
    seen = []
    for _ in range(3):
        submit_queued(context)
        recover(context, IMMEDIATELY)
        seen.append(read(context, run_ids[0]).state)
        with transaction(context.engine) as db:
            db.execute(update(Run).values(not_before=None))
    assert seen == [State.QUEUED, State.QUEUED, State.FAILED]
    assert sentence(read(context, run_ids[0])) == "local refused the job: sbatch: the moon is full (3 times)"


def test_a_cluster_without_an_answer_between_two_unknown_errors_ends_no_run(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(puppet, "find", lambda names: dict.fromkeys(names))
    for trouble in (UnknownErrorMessage("odd"), NoAnswerError("timed out"), UnknownErrorMessage("odd")):
        puppet.trouble = trouble
        submit_queued(context)
        recover(context, IMMEDIATELY)
        with transaction(context.engine) as db:
            db.execute(update(Run).values(not_before=None))
    assert read(context, run_ids[0]).state is State.QUEUED


@pytest.mark.ring("all")
def test_the_wait_grows_with_each_lost_submission_and_the_run_never_fails(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: sbatch gives no answer seven times in a row, without a job; then the cluster accepts a job."""

    def lose(times: int) -> list[int]:
        waits_s: list[float] = []
        for _ in range(times):
            with transaction(context.engine) as db:
                db.execute(update(Run).values(not_before=None))
            submit_queued(context)
            assert states(context)[0] == State.SUBMITTING
            recover(context, IMMEDIATELY)
            run = read(context, run_ids[0])
            assert run.state == State.QUEUED
            assert sentence(run) == "its submission was lost: no answer"
            assert run.not_before
            waits_s.append((run.not_before - run.moved_at).total_seconds())
        return [round(seconds) for seconds in waits_s]

    puppet.trouble = NoAnswerError("no answer")
    monkeypatch.setattr(puppet, "find", lambda names: dict.fromkeys(names))
    assert lose(7) == [0, 5, 15, 35, 75, 155, 315]
    puppet.trouble = None
    with transaction(context.engine) as db:
        db.execute(update(Run).values(not_before=None))
    submit_queued(context)
    run = read(context, run_ids[0])
    assert run.state == State.PENDING
    with transaction(context.engine) as db:
        row = db.get_one(Run, run.id)
        current_job(db, row).is_gone = True
        move(db, row, State.QUEUED)
    puppet.trouble = NoAnswerError("no answer")
    assert lose(2) == [0, 5]


def test_a_run_stays_submitting_while_its_claim_cannot_be_read(
    context: Context, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a shared folder that shows the contents of another worker's claim late."""
    monkeypatch.setattr("contract.folder.run_folder.CLAIM_VISIBLE_S", 0.1)
    take(context, run_ids[0])
    folder = context.folder_of(read(context, run_ids[0]))
    folder.prepare(request_of(context, run_ids[0]).spec)
    folder.claim(1, ABANDONED)
    claim = folder.path / "attempts" / "1.json"
    bytes_, _ = claim.read_bytes(), claim.write_bytes(b"")
    recover(context, IMMEDIATELY)
    assert (read(context, run_ids[0]).state, job_of(context, run_ids[0]).external_id) == (State.SUBMITTING, None)
    claim.write_bytes(bytes_)
    recover(context, IMMEDIATELY)
    assert read(context, run_ids[0]).state == State.QUEUED


def test_a_job_that_the_cluster_no_longer_lists_is_known_by_its_claim(
    context: Context, puppet: Puppet, run_ids: list[int]
) -> None:
    """Forces the fault: the worker dies after sbatch; the job claims its attempt, ends and is no longer listed."""
    take(context, run_ids[0])
    request = request_of(context, run_ids[0])
    request.folder.prepare(request.spec)
    request.folder.claim(1, "job77")
    recover(context, IMMEDIATELY)
    assert (read(context, run_ids[0]).state, job_of(context, run_ids[0]).external_id) == (State.PENDING, "job77")


def test_a_job_that_the_cluster_accepts_after_the_retry_must_not_train(context: Context, run_ids: list[int]) -> None:
    """Forces the fault: the controller accepts a submission long after its client timed out."""
    take(context, run_ids[0])
    recover(context, IMMEDIATELY)
    assert read(context, run_ids[0]).state == State.QUEUED
    assert context.folder_of(read(context, run_ids[0])).claim(1, "late") != "late"


def test_a_run_whose_job_found_its_attempt_abandoned_is_queued_again(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: a worker stores its job's id when `recover` has claimed the attempt and not queued the run."""
    take(context, run_ids[0])
    name, claim = str(job_of(context, run_ids[0]).name), RunFolder.claim

    def recovered(folder: RunFolder, attempt: int, job: str) -> str:
        holder = claim(folder, attempt, job)
        with transaction(context.engine) as db:
            transitions.apply_to_submission(db, name, State.PENDING, job_id="job9")
        return holder

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "claim", recovered)
        recover(context, IMMEDIATELY)
    assert read(context, run_ids[0]).state == State.PENDING
    puppet.answers["job9"] = gone(EndKind.EXITED, exit_code=3)  # it found its attempt taken
    ingest(context)
    run = read(context, run_ids[0])
    assert (run.state, run.attempt) == (State.QUEUED, 1), sentence(run)


def test_a_worker_without_the_cluster_recovers_no_run(context: Context, run_ids: list[int]) -> None:
    take(context, run_ids[0])
    recover(Context(context.engine, {}, context.runs_folder, local_ranks=1), IMMEDIATELY)
    assert read(context, run_ids[0]).state == State.SUBMITTING


def test_an_unreadable_claim_does_not_delay_other_runs(context: Context, run_ids: list[int]) -> None:
    """Forces the fault: the claim of the first of two runs is an empty file, as a power cut may leave it."""
    take(context, *run_ids[:2])
    request = request_of(context, run_ids[0])
    request.folder.prepare(request.spec)
    (request.folder.path / "attempts" / "1.json").touch()
    recover(context, IMMEDIATELY)
    assert states(context) == [State.SUBMITTING, State.QUEUED, State.QUEUED]


def test_an_error_after_sbatch_leaves_the_submission_unconfirmed(
    context: Context, puppet: Puppet, run_ids: list[int]
) -> None:
    """Forces the fault: the disk is full when submitit writes its own files, after sbatch has returned."""
    puppet.trouble = OSError(28, "No space left on device")
    submit_queued(context)
    assert states(context) == [State.SUBMITTING] * 3
    recover(context, IMMEDIATELY)
    assert (states(context), len(puppet.jobs)) == ([State.PENDING] * 3, 3)
