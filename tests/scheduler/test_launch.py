"""Launching: each run once, whatever happens in between; refusals in the cluster's own words."""

import errno
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, update

from contract.folder.run_folder import GIVEN_UP, RunFolder
from contract.lifecycle.state import State
from scheduler.clusters.cluster import DoubtError, Gone, Job, RefusedError
from scheduler.context import Site, job_name
from scheduler.submit.submission import launch
from scheduler.ticks.ingest import collect
from scheduler.ticks.recover import PATIENCE, recover
from store import runs
from store import submissions as launches
from store.session import snapshot, transaction
from store.tables import Run, now
from tests.conftest import Experiment
from tests.scheduler.conftest import Puppet, eight_launch, read, states

AT_ONCE = timedelta(0)


def take(site: Site, *run_ids: int) -> None:
    """Do what a launcher does first, and no more: each run alone."""
    with transaction(site.engine) as db:
        for run_id in run_ids:
            run = db.get_one(Run, run_id)
            launches.take(db, [run], job_name(run.key, run.attempt + 1))


def test_eight_launchers_submit_fifty_runs_once_each(site: Site, puppet: Puppet, experiment: Experiment) -> None:
    """Forces the race: eight launchers begin at the same moment on the same fifty queued runs."""
    with transaction(site.engine) as db:
        runs.create(db, experiment({"seed": list(range(50))}))
    eight_launch(site)
    names = [job.name for job in puppet.jobs.values()]
    assert (len(names), len(set(names))) == (50, 50)
    assert states(site) == [State.PENDING] * 50


def test_a_refusal_fails_the_run_in_the_clusters_words(site: Site, puppet: Puppet, run_ids: list[int]) -> None:
    puppet.trouble = RefusedError("invalid partition specified: nosuch")
    launch(site)
    run = read(site, run_ids[0])
    assert (run.state, run.reason) == (State.FAILED, "local refused the job: invalid partition specified: nosuch")


def test_a_run_folder_that_cannot_be_written_fails_the_run_with_its_path(site: Site, run_ids: list[int]) -> None:
    """Forces the fault: a file lies where the folder of run folders should be."""
    site.runs_folder.write_text("in the way")
    launch(site)
    run = read(site, run_ids[0])
    assert run.state == State.FAILED
    assert "the run folder cannot be written" in str(run.reason)
    assert str(site.runs_folder) in str(run.reason)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.EACCES, errno.EROFS])
def test_a_folder_that_may_be_written_later_makes_a_run_wait_and_fails_none(
    site: Site, run_ids: list[int], monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Forces the fault: the folder of a run cannot be written; its disk is full, or its file server away."""

    def full(*_: object) -> None:
        raise OSError(error, "out of order")

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "prepare", full)
        launch(site)
    run = read(site, run_ids[0])
    assert (run.state, run.job_id) == (State.QUEUED, None)
    assert "out of order" in str(run.reason)
    with transaction(site.engine) as db:
        db.execute(update(Run).values(not_before=None))
    launch(site)
    assert states(site) == [State.PENDING] * 3


def test_a_job_taken_though_sbatch_timed_out_is_adopted_by_its_name(
    site: Site, puppet: Puppet, run_ids: list[int]
) -> None:
    """Forces the fault: the cluster takes the job and the answer is lost."""
    puppet.trouble = DoubtError("Socket timed out on send/recv operation")
    launch(site)
    assert states(site) == [State.SUBMITTING] * 3
    launch(site)
    recover(site, AT_ONCE)
    assert states(site) == [State.PENDING] * 3
    assert len(puppet.jobs) == 3


def test_a_submission_that_was_surely_lost_is_made_again(site: Site, puppet: Puppet, run_ids: list[int]) -> None:
    """Forces the fault: the launcher dies after it took the run and before it submitted it."""
    take(site, run_ids[0])
    recover(site)
    assert read(site, run_ids[0]).state == State.SUBMITTING, "a launcher that is slow must not be overtaken"
    recover(site, AT_ONCE)
    assert read(site, run_ids[0]).state == State.QUEUED
    launch(site)
    assert (read(site, run_ids[0]).state, read(site, run_ids[0]).attempt) == (State.PENDING, 2)


def test_a_worker_that_begins_anew_need_not_watch_what_is_stuck_for_long(site: Site, run_ids: list[int]) -> None:
    """Forces the fault: the launcher died a while ago, and nobody has seen its submission since."""
    take(site, run_ids[0])
    for ago_s, state in ((-600, State.SUBMITTING), (5, State.SUBMITTING), (PATIENCE.total_seconds() + 1, State.QUEUED)):
        with transaction(site.engine) as db:
            db.execute(update(Run).where(Run.id == run_ids[0]).values(moved_at=now() - timedelta(seconds=ago_s)))
        recover(replace(site, once=set()))
        assert read(site, run_ids[0]).state == state


def test_however_often_a_submission_is_lost_the_run_waits_longer_and_lives(
    site: Site, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: sbatch says nothing seven times in a row, and the cluster has no job; then it takes one."""

    def come_back(times: int) -> list[int]:
        waited: list[float] = []
        for _ in range(times):
            with transaction(site.engine) as db:
                db.execute(update(Run).values(not_before=None))
            launch(site)
            assert states(site)[0] == State.SUBMITTING
            recover(site, AT_ONCE)
            run = read(site, run_ids[0])
            assert run.state == State.QUEUED
            assert run.reason == "its submission was lost: no answer"
            assert run.not_before
            waited.append((run.not_before - run.moved_at).total_seconds())
        return [round(seconds) for seconds in waited]

    puppet.trouble = DoubtError("no answer")
    monkeypatch.setattr(puppet, "find", lambda names: dict.fromkeys(names))
    assert come_back(7) == [0, 5, 15, 35, 75, 155, 315]
    puppet.trouble = None
    with transaction(site.engine) as db:
        db.execute(update(Run).values(not_before=None))
    launch(site)
    run = read(site, run_ids[0])
    assert run.state == State.PENDING
    with transaction(site.engine) as db:
        runs.move(db, run, State.QUEUED, reason="preempted")
    puppet.trouble = DoubtError("no answer")
    assert come_back(2) == [0, 5]


def test_a_claim_that_cannot_be_read_yet_gives_nobody_the_run(
    site: Site, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a shared folder that shows the claim of another worker late: its bytes come after a while."""
    monkeypatch.setattr("contract.folder.run_folder.LATE_S", 0.1)
    take(site, run_ids[0])
    folder = site.folder_of(read(site, run_ids[0]))
    folder.prepare(site.job_of(read(site, run_ids[0])).spec)
    folder.claim(1, GIVEN_UP)
    claim = folder.path / "attempts" / "1.json"
    bytes_, _ = claim.read_bytes(), claim.write_bytes(b"")
    recover(site, AT_ONCE)
    assert (read(site, run_ids[0]).state, read(site, run_ids[0]).job_id) == (State.SUBMITTING, None)
    claim.write_bytes(bytes_)
    recover(site, AT_ONCE)
    assert read(site, run_ids[0]).state == State.QUEUED


def test_a_job_that_came_and_went_before_anybody_looked_is_known_by_its_claim(
    site: Site, puppet: Puppet, run_ids: list[int]
) -> None:
    """Forces the fault: the launcher dies after submission, the job claims its attempt, ends and is forgotten."""
    take(site, run_ids[0])
    job = site.job_of(read(site, run_ids[0]))
    job.folder.prepare(job.spec)
    job.folder.claim(1, "job77")
    recover(site, AT_ONCE)
    assert (read(site, run_ids[0]).state, read(site, run_ids[0]).job_id) == (State.PENDING, "job77")


def test_a_job_that_the_cluster_takes_after_it_was_given_up_may_not_train(site: Site, run_ids: list[int]) -> None:
    """Forces the fault: the controller accepts a submission long after its client was told nothing."""
    take(site, run_ids[0])
    recover(site, AT_ONCE)
    assert read(site, run_ids[0]).state == State.QUEUED
    assert site.folder_of(read(site, run_ids[0])).claim(1, "late") != "late"


def test_a_submission_that_comes_through_as_it_is_given_up_is_made_again(
    site: Site, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: a launcher stores its job's id after its attempt was claimed, before the run is queued again."""
    take(site, run_ids[0])
    name, claim = str(read(site, run_ids[0]).job_name), RunFolder.claim

    def overtaken(folder: RunFolder, attempt: int, job: str) -> str:
        holder = claim(folder, attempt, job)
        with transaction(site.engine) as db:
            launches.place(db, name, "job9")
        return holder

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "claim", overtaken)
        recover(site, AT_ONCE)
    assert read(site, run_ids[0]).state == State.PENDING
    puppet.answers["job9"] = Gone("exit code 3")  # it found its attempt taken
    collect(site)
    run = read(site, run_ids[0])
    assert (run.state, run.attempt) == (State.QUEUED, 1), run.reason


def test_a_worker_without_the_cluster_gives_nothing_up(site: Site, run_ids: list[int]) -> None:
    take(site, run_ids[0])
    recover(Site(site.engine, {}, site.runs_folder, local_ranks=1), AT_ONCE)
    assert read(site, run_ids[0]).state == State.SUBMITTING


def test_one_runs_trouble_does_not_keep_the_others_stuck(site: Site, run_ids: list[int]) -> None:
    """Forces the fault: the claim of the first of two stuck runs is an empty file, as a power cut may leave it."""
    take(site, *run_ids[:2])
    job = site.job_of(read(site, run_ids[0]))
    job.folder.prepare(job.spec)
    (job.folder.path / "attempts" / "1.json").touch()
    recover(site, AT_ONCE)
    assert states(site) == [State.SUBMITTING, State.QUEUED, State.QUEUED]


def test_an_error_after_the_cluster_took_the_job_is_doubt(site: Site, puppet: Puppet, run_ids: list[int]) -> None:
    """Forces the fault: the disk is full when submitit writes its own files, after sbatch has returned."""
    puppet.trouble = OSError(28, "No space left on device")
    launch(site)
    assert states(site) == [State.SUBMITTING] * 3
    recover(site, AT_ONCE)
    assert (states(site), len(puppet.jobs)) == ([State.PENDING] * 3, 3)


def test_a_job_adopted_while_its_launcher_was_slow_is_not_cancelled(
    site: Site, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: the run is recovered between its submission and the storing of its id."""
    submit = puppet.submit

    def overtaken(job: Job) -> str:
        job_id = submit(job)
        recover(site, AT_ONCE)
        return job_id

    monkeypatch.setattr(puppet, "submit", overtaken)
    launch(site)
    assert (states(site), puppet.cancelled) == ([State.PENDING] * 3, [])


def test_a_run_that_was_asked_to_stop_is_not_begun(site: Site, puppet: Puppet, run_ids: list[int]) -> None:
    with transaction(site.engine) as db:
        runs.want_stop(db, Run.id.in_(run_ids[1:]))
    launch(site)
    assert len(puppet.jobs) == 1


def test_a_launcher_that_was_given_up_cancels_what_it_submitted(
    site: Site, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: while sbatch is slow, the run is declared lost and queued again."""
    submit = puppet.submit

    def slow(job: Job) -> str:
        with transaction(site.engine) as db:
            for run in runs.in_state(db, State.SUBMITTING):
                runs.move(db, run, State.QUEUED)
        return submit(job)

    monkeypatch.setattr(puppet, "submit", slow)
    launch(site)
    assert puppet.cancelled == [("job1", False)]


def test_local_runs_wait_for_room_and_a_wide_one_gets_the_machine_to_itself(
    engine: Engine, site: Site, experiment: Experiment
) -> None:
    small = Site(engine, site.clusters, site.runs_folder, local_ranks=5)
    with transaction(engine) as db:
        runs.create(db, experiment({"seed": [0, 1, 2]}))
    launch(small)
    assert states(small) == [State.PENDING, State.PENDING, State.QUEUED]
    narrow = Site(engine, site.clusters, site.runs_folder, local_ranks=1)
    with transaction(engine) as db:
        for run in runs.in_state(db, State.PENDING):
            runs.move(db, run, State.DONE)
    launch(narrow)
    assert states(narrow)[2] == State.PENDING


def test_what_waits_for_an_absent_cluster_stays_queued(site: Site, experiment: Experiment) -> None:
    with transaction(site.engine) as db:
        runs.create(db, experiment(resources={"kind": "slurm", "ranks_per_node": 2}))
    launch(site)
    with snapshot(site.engine) as db:
        assert runs.in_state(db, State.QUEUED)
