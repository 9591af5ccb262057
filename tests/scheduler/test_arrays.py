"""Sweeps on a cluster that takes arrays: many runs in one submission, each exactly once, within caps and limits."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Array, BusyError, DoubtError, FullError, Job, Limits
from scheduler.context import Site
from scheduler.submit.select import choose
from scheduler.submit.submission import _prepare_one, launch
from scheduler.ticks.recover import recover
from store import runs
from store import submissions as launches
from store.session import transaction
from store.tables import Experiment as Stored
from store.tables import Run
from tests.conftest import Experiment
from tests.scheduler.conftest import Puppet, eight_launch, read, states

SLURM = {"kind": "slurm", "ranks_per_node": 2}
AT_ONCE = timedelta(0)


class Far(Puppet):
    """A cluster that is not this machine, and takes arrays."""

    is_here = False

    def __init__(self) -> None:
        super().__init__()
        self.room: int | None = None

    def limits(self) -> Limits:
        return Limits(tasks=4, jobs=self.room)


@pytest.fixture
def far() -> Far:
    return Far()


@pytest.fixture
def site(engine: Engine, far: Far, tmp_path: Path) -> Site:
    return Site(engine, {"slurm": far}, tmp_path / "runs", local_ranks=1)


def sweep_of(site: Site, experiment: Experiment, size: int, cap: int | None = None, **base: object) -> list[int]:
    with transaction(site.engine) as db:
        id_, run_ids = runs.create(db, experiment({"seed": list(range(size))}, resources=SLURM, **base))
        db.get_one(Stored, id_).max_parallel = cap
    return run_ids


def sizes(far: Far) -> list[int]:
    return [len(job.tasks) if isinstance(job, Array) else 1 for job in far.jobs.values()]


def test_a_sweep_goes_in_arrays_as_large_as_the_cluster_takes(site: Site, far: Far, experiment: Experiment) -> None:
    run_ids = sweep_of(site, experiment, 9)
    launch(site)
    assert sizes(far) == [4, 4, 1]
    assert [read(site, run_id).job_id for run_id in run_ids] == [
        *(f"job1_{task}" for task in range(4)),
        *(f"job2_{task}" for task in range(4)),
        "job3",
    ]
    array = far.jobs["job2"]
    assert isinstance(array, Array)
    for task, run_id in enumerate(run_ids[4:8]):
        assert (array.folder.path / str(task)).resolve() == site.folder_of(read(site, run_id)).path.resolve()


def test_eight_launchers_put_a_sweep_of_fifty_into_arrays_once(site: Site, far: Far, experiment: Experiment) -> None:
    """Forces the race: eight launchers begin at the same moment on the same fifty queued runs."""
    run_ids = sweep_of(site, experiment, 50)
    eight_launch(site)
    assert sum(sizes(far)) == 50
    assert len({read(site, run_id).job_id for run_id in run_ids}) == 50
    assert states(site) == [State.PENDING] * 50


def test_runs_of_different_needs_or_attempts_do_not_share_an_array(
    site: Site, far: Far, experiment: Experiment
) -> None:
    with transaction(site.engine) as db:
        runs.create(db, experiment({"seed": [0, 1], "resources.ranks_per_node": [1, 2]}, resources=SLURM))
        second = db.get_one(Run, 4)
        second.attempt = 3
    launch(site)
    assert sorted(sizes(far)) == [1, 1, 2]
    assert {job.attempt for job in far.jobs.values()} == {1, 4}


def test_a_cap_holds_over_all_that_an_experiment_has_submitted(site: Site, far: Far, experiment: Experiment) -> None:
    run_ids = sweep_of(site, experiment, 9, cap=3)
    launch(site)
    (first,) = far.jobs.values()
    assert isinstance(first, Array)
    assert (len(first.tasks), first.parallel) == (4, 3)
    end(site, run_ids[:3])
    launch(site)
    assert sizes(far) == [4], "one of the first four may still run, so a second array might run four at once"
    end(site, run_ids[3:4])
    launch(site)
    assert sizes(far) == [4, 4]


def end(site: Site, run_ids: list[int]) -> None:
    with transaction(site.engine) as db:
        for run_id in run_ids:
            runs.move(db, db.get_one(Run, run_id), State.DONE)


def test_no_more_is_submitted_than_the_cluster_takes_of_one_user(site: Site, far: Far, experiment: Experiment) -> None:
    run_ids = sweep_of(site, experiment, 9)
    far.room = 6
    launch(site)
    assert sizes(far) == [4, 2]
    launch(site)
    assert sizes(far) == [4, 2]
    end(site, run_ids[:1])
    launch(site)
    assert sizes(far) == [4, 2, 1]


@pytest.mark.parametrize("full", [FullError("job submit limit"), BusyError("spent")])
def test_a_cluster_that_takes_no_more_now_fails_no_run(
    site: Site, far: Far, experiment: Experiment, full: Exception
) -> None:
    """Forces the fault: sbatch says that a limit is reached, or may not be called any more this minute."""
    (run_id, *_) = sweep_of(site, experiment, 2)

    def refuse(_: Job | Array) -> str:
        raise full

    far.submit = refuse  # type: ignore[method-assign]
    launch(site)
    assert states(site) == [State.QUEUED] * 2
    assert read(site, run_id).reason == str(full)
    assert (choose(site, "slurm", far) is None) == isinstance(full, FullError)


def test_an_array_taken_though_sbatch_timed_out_is_adopted_whole(site: Site, far: Far, experiment: Experiment) -> None:
    """Forces the fault: the cluster takes the array and the answer is lost."""
    run_ids = sweep_of(site, experiment, 4)
    far.trouble = DoubtError("Socket timed out on send/recv operation")
    launch(site)
    assert states(site) == [State.SUBMITTING] * 4
    recover(site, AT_ONCE)
    assert [read(site, run_id).job_id for run_id in run_ids] == [f"job1_{task}" for task in range(4)]
    assert len(far.jobs) == 1


def test_an_array_whose_launcher_died_before_it_asked_is_submitted_again(
    site: Site, far: Far, experiment: Experiment
) -> None:
    """Forces the fault: the launcher dies when the runs are taken, with one of three folders written."""
    run_ids = sweep_of(site, experiment, 3)
    with transaction(site.engine) as db:
        launches.take(db, runs.queued(db, "slurm", 3), "bigbatch-lost-1")
    recover(site, AT_ONCE)
    assert states(site) == [State.QUEUED] * 3
    launch(site)
    assert (sizes(far), {read(site, run_id).attempt for run_id in run_ids}) == ([3], {2})
    assert site.folder_of(read(site, run_ids[2])).claim(1, "late_2") != "late_2", "the first array may not train"


def test_an_array_that_was_given_up_while_its_folders_were_written_is_not_submitted(
    site: Site, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: a file system so slow that the runs are queued again before their launcher comes to sbatch."""
    sweep_of(site, experiment, 2)
    prepare = ArrayFolder.prepare

    def slow(folder: ArrayFolder, tasks: Mapping[int, RunFolder]) -> None:
        prepare(folder, tasks)
        recover(site, AT_ONCE)

    monkeypatch.setattr(ArrayFolder, "prepare", slow)
    launch(site)
    assert (states(site), sizes(far)) == ([State.QUEUED] * 2, [])


def test_of_an_array_that_came_unseen_what_began_is_adopted(site: Site, far: Far, experiment: Experiment) -> None:
    """Forces the fault: the array began and was forgotten before anybody looked, one task had no turn yet."""
    run_ids = sweep_of(site, experiment, 2)
    with transaction(site.engine) as db:
        launches.take(db, runs.queued(db, "slurm", 2), "bigbatch-lost-1")
    job = site.job_of(read(site, run_ids[1]))
    job.folder.prepare(job.spec)
    job.folder.claim(1, "77_1")
    recover(site, AT_ONCE)
    assert [(read(site, r).state, read(site, r).job_id) for r in run_ids] == [
        (State.QUEUED, None),
        (State.PENDING, "77_1"),
    ]


def test_a_run_whose_folder_cannot_be_written_fails_alone(site: Site, far: Far, experiment: Experiment) -> None:
    """Forces the fault: a file lies where the folder of one of three runs should be."""
    run_ids = sweep_of(site, experiment, 3)
    path = site.folder_of(read(site, run_ids[1])).path
    path.parent.mkdir(parents=True)
    path.touch()
    launch(site)
    assert states(site) == [State.PENDING, State.FAILED, State.PENDING]
    (array,) = far.jobs.values()
    assert isinstance(array, Array)
    assert array.tasks == [0, 2]
    assert read(site, run_ids[2]).job_id == "job1_2"


def test_launchers_that_chose_at_different_moments_share_no_name(site: Site, far: Far, experiment: Experiment) -> None:
    """Forces the race: one chooses a run, another the same and one that came since; the first takes its before."""
    (first,) = sweep_of(site, experiment, 1)
    alone = choose(site, "slurm", far)
    (second,) = sweep_of(site, experiment, 1)
    both = choose(site, "slurm", far)
    assert alone
    assert both
    assert (alone.name, [run.id for run in both.runs]) == (both.name, [first, second])
    with transaction(site.engine) as db:
        taken = launches.take(db, alone.runs, alone.name)
        none = launches.take(db, both.runs, both.name)
    assert ([run.id for run in taken], none) == ([first], [])
    with transaction(site.engine) as db:
        launches.place(db, alone.name, "100")
    launch(site)
    assert [read(site, run_id).job_id for run_id in (first, second)] == ["100", "job1"]


def test_launchers_that_chose_at_different_moments_share_a_cap(site: Site, far: Far, experiment: Experiment) -> None:
    """Forces the race: one chooses while a run must wait, another when that is over; their first runs differ."""
    run_ids = sweep_of(site, experiment, 4, cap=2)
    with transaction(site.engine) as db:
        db.get_one(Run, run_ids[0]).not_before = runs.now().replace(year=2100)
    late = choose(site, "slurm", far)
    with transaction(site.engine) as db:
        db.get_one(Run, run_ids[0]).not_before = None
    soon = choose(site, "slurm", far)
    assert late
    assert soon
    assert [late.runs[0].id, soon.runs[0].id] == run_ids[1::-1]
    with transaction(site.engine) as db:
        assert launches.take(db, late.runs, late.name, parallel=late.parallel)
        assert launches.take(db, soon.runs, soon.name, parallel=soon.parallel) == []
    launch(site)
    assert sizes(far) == [], "three may run already that the first has taken"
    end_of = {run_id: read(site, run_id).state for run_id in run_ids}
    assert end_of == dict(zip(run_ids, [State.QUEUED, *[State.SUBMITTING] * 3], strict=True))


def test_a_sweep_whose_folders_are_slow_to_write_is_not_taken_for_stuck(
    site: Site, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a shared folder so slow that a submission is looked for while it is prepared; it says that it goes on."""
    run_ids, said = sweep_of(site, experiment, 4), list[Any]()
    monkeypatch.setattr("scheduler.submit.submission.PORTION", 2)
    monkeypatch.setattr("scheduler.submit.submission.RENEW_S", 0.0)

    def slowly(site: Site, run: Run) -> OSError | None:
        said.append(read(site, run_ids[0]).moved_at)
        return _prepare_one(site, run)

    monkeypatch.setattr("scheduler.submit.submission._prepare_one", slowly)
    launch(site)
    assert len(set(said)) == 2
    assert sizes(far) == [4]
