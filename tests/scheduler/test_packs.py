"""Runs that share a job: launched, adopted, ended and stopped one by one, on a cluster that does as it is told."""

import errno
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from contract.folder.array_folder import members_in
from contract.folder.events import Failed, Started
from contract.folder.run_folder import GIVEN_UP, RunFolder
from contract.lifecycle.state import State
from contract.spec.retry import Cause
from scheduler.clusters.cluster import Array, DoubtError, Gone, Job
from scheduler.context import Site
from scheduler.submit.submission import launch
from scheduler.ticks.cancel import stop
from scheduler.ticks.ingest import collect
from scheduler.ticks.poll import look
from scheduler.ticks.reap import sweep
from scheduler.ticks.recover import recover
from store import jobs as attempts
from store import runs
from store.session import snapshot, transaction
from store.tables import Experiment as Stored
from store.tables import Run
from tests.conftest import Experiment
from tests.scheduler.conftest import eight_launch, read, say, states
from tests.scheduler.test_arrays import SLURM, Far, end


@pytest.fixture
def far() -> Far:
    return Far()


@pytest.fixture
def site(sqlite_engine: Engine, far: Far, tmp_path: Path) -> Site:
    return Site(sqlite_engine, {"slurm": far}, tmp_path / "runs", local_ranks=1)


def sweep_of(site: Site, experiment: Experiment, size: int, pack: int, cap: int | None = None) -> list[int]:
    with transaction(site.engine) as db:
        id_, run_ids = runs.create(db, experiment({"seed": list(range(size))}, resources=SLURM, retries={"failure": 0}))
        stored = db.get_one(Stored, id_)
        stored.max_parallel, stored.pack = cap, pack
    return run_ids


@pytest.fixture
def pair(site: Site, experiment: Experiment) -> list[Run]:
    """Two runs that share a job; the first has begun."""
    run_ids = sweep_of(site, experiment, 2, pack=2)
    launch(site)
    found = [read(site, run_id) for run_id in run_ids]
    assert [run.job_id for run in found] == ["job1_0"] * 2
    begin(site, found[0])
    return found


def begin(site: Site, run: Run) -> None:
    site.folder_of(run).claim(1, f"job1_0 (member {run.member})")
    say(site, run.id, Started(attempt=1, at=0.0, hosts=["a"], world=2, device="cpu", steps=4, versions={}))
    collect(site)


def settle(site: Site) -> None:
    look(site)
    collect(site)


def want(site: Site, *wanted: Run) -> None:
    with transaction(site.engine) as db:
        runs.want_stop(db, Run.id.in_([run.id for run in wanted]))
    stop(site)


def test_nine_runs_in_packs_of_four_are_three_jobs_of_three(site: Site, far: Far, experiment: Experiment) -> None:
    run_ids = sweep_of(site, experiment, 9, pack=4, cap=7)
    eight_launch(site)
    (array,) = far.jobs.values()
    assert isinstance(array, Array)
    assert (array.tasks, array.pack, array.parallel) == ([0, 1, 2], 3, 2)
    assert [read(site, run_id).job_id for run_id in run_ids] == [f"job1_{task}" for task in (0, 1, 2) for _ in range(3)]
    carried = [folder.path.resolve() for folder in members_in(array.folder.path / "1").values()]
    assert carried == [site.folder_of(read(site, run_id)).path.resolve() for run_id in run_ids[3:6]]


def test_the_cluster_limits_jobs_and_not_runs(site: Site, far: Far, experiment: Experiment) -> None:
    run_ids = sweep_of(site, experiment, 9, pack=4)
    far.room = 2
    launch(site)
    assert [isinstance(job, Array) and job.pack for job in far.jobs.values()] == [4]
    end(site, run_ids[:3])
    launch(site)
    assert len(far.jobs) == 1, "the fourth run still keeps its job"
    end(site, run_ids[3:4])
    launch(site)
    assert isinstance(far.jobs["job2"], Job), "the last run has nobody to share with"


def test_a_pack_taken_though_sbatch_timed_out_is_adopted_whole(site: Site, far: Far, experiment: Experiment) -> None:
    """Forces the fault: the cluster takes the pack and the answer is lost."""
    run_ids = sweep_of(site, experiment, 4, pack=2)
    far.trouble = DoubtError("Socket timed out on send/recv operation")
    launch(site)
    recover(site, timedelta(0))
    assert [read(site, run_id).job_id for run_id in run_ids] == ["job1_0", "job1_0", "job1_1", "job1_1"]


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("", Cause.FAILURE),
        ("0: warning: this may run out of memory", Cause.FAILURE),
        ("error: 1 oom_kill event", Cause.OUT_OF_MEMORY),
        ("0: torch.OutOfMemoryError: CUDA out of memory", Cause.OUT_OF_MEMORY),
    ],
)
def test_a_run_whose_part_has_ended_is_judged_by_it_and_its_neighbor_goes_on(
    site: Site, pair: list[Run], words: str, cause: Cause
) -> None:
    folder = site.folder_of(pair[0])
    folder.log.write_text(words)
    folder.note_end(1, 137)
    settle(site)
    assert states(site) == [State.FAILED, State.PENDING]
    with snapshot(site.engine) as db:
        assert [attempt.cause for attempt in attempts.of_run(db, pair[0].id)] == [cause]


def test_who_had_not_begun_as_the_job_ended_is_queued_again_and_can_begin_no_more(
    site: Site, far: Far, pair: list[Run]
) -> None:
    """Forces the fault: the job fails when one of its two runs has begun."""
    far.answers["job1_0"] = Gone("the job failed", Cause.FAILURE)
    settle(site)
    assert states(site) == [State.FAILED, State.QUEUED]
    assert "its turn in there had not come" in (read(site, pair[1].id).reason or "")
    assert site.folder_of(pair[1]).claim(1, "late") == GIVEN_UP


def test_what_befalls_the_job_befalls_both(site: Site, far: Far, pair: list[Run]) -> None:
    far.answers["job1_0"] = Gone("the job was cancelled in Slurm", Cause.CANCELLED)
    settle(site)
    assert states(site) == [State.CANCELLED] * 2


def test_a_run_that_has_not_begun_is_cancelled_at_once_and_never_begins(site: Site, far: Far, pair: list[Run]) -> None:
    want(site, pair[1])
    assert (states(site), far.cancelled) == ([State.RUNNING, State.CANCELLED], [])
    assert site.folder_of(pair[1]).claim(1, "late") == GIVEN_UP


def test_a_run_that_trains_is_asked_by_a_word_in_its_folder_and_then_forced(
    site: Site, far: Far, pair: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    want(site, pair[0])
    assert site.folder_of(pair[0]).wished_end(1) == "TERM"
    monkeypatch.setattr("scheduler.jobs.terminate.GRACE", timedelta(0))
    stop(site)
    assert site.folder_of(pair[0]).wished_end(1) == "KILL"
    assert read(site, pair[0].id).stop_forced_at
    assert (states(site), far.cancelled) == ([State.RUNNING, State.PENDING], [])
    site.folder_of(pair[0]).note_end(1, 137)
    settle(site)
    assert states(site) == [State.CANCELLED, State.PENDING]


def test_parts_of_shared_jobs_are_stopped_together_in_one_transaction(
    site: Site, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_ids = sweep_of(site, experiment, 9, pack=3)
    launch(site)
    begun, kept = [read(site, run_id) for run_id in run_ids[:2]], [run_ids[2], run_ids[5], run_ids[8]]
    for run in begun:
        begin(site, run)
    transactions = []
    monkeypatch.setattr(
        "scheduler.jobs.packed.transaction", lambda engine: transactions.append(1) or transaction(engine)
    )
    want(site, *(read(site, run_id) for run_id in run_ids if run_id not in kept))
    assert (far.cancelled, transactions) == ([], [1])
    assert [site.folder_of(run).wished_end(1) for run in begun] == ["TERM"] * 2
    cancelled = [run_id for run_id in run_ids if read(site, run_id).state == State.CANCELLED]
    assert cancelled == [run_id for run_id in run_ids[2:] if run_id not in kept]


def test_the_last_to_be_stopped_ends_the_job(site: Site, far: Far, pair: list[Run]) -> None:
    want(site, *pair)
    assert {job_id for job_id, _ in far.cancelled} == {"job1_0"}
    assert site.folder_of(pair[0]).wished_end(1) is None


def test_the_last_to_be_stopped_ends_the_job_also_while_the_other_is_still_ending(
    site: Site, far: Far, pair: list[Run]
) -> None:
    """Forces a carrier that heeds no word in a folder: the first was asked there, and goes on."""
    begin(site, pair[1])
    want(site, pair[0])
    assert (site.folder_of(pair[0]).wished_end(1), far.cancelled) == ("TERM", [])
    want(site, pair[1])
    assert far.cancelled == [("job1_0", False)]


def test_a_folder_that_is_away_keeps_no_other_run_from_being_looked_at(
    site: Site, far: Far, pair: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the shared file system has lost the file by which the end of a part is known."""

    def stale(self: RunFolder, attempt: int) -> int | None:
        raise OSError(errno.ESTALE, "Stale file handle")

    far.answers["job1_0"] = Gone("a node of the job failed", Cause.NODE_FAILURE)
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "end_status", stale)
        look(site)
    assert read(site, pair[0].id).gone_cause == Cause.NODE_FAILURE


def test_a_rank_that_outlives_its_last_word_is_ended_and_its_neighbor_is_not(
    site: Site, far: Far, pair: list[Run]
) -> None:
    say(site, pair[0].id, Failed(attempt=1, at=0.0, rank=0, reason="the loss is no number"))
    collect(site)
    sweep(site)
    assert (far.cancelled, site.folder_of(pair[0]).wished_end(1)) == ([], "TERM")
    end(site, [pair[1].id])
    with transaction(site.engine) as db:
        db.get_one(Run, pair[0].id).stop_asked_at = None
    sweep(site)
    assert far.cancelled == [("job1_0", False)]
