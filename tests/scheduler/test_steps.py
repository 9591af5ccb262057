"""Submissions of many runs are made in steps, over several ticks, and what falls between two of these harms none."""

import errno
import os
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, update

from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from contract.spec.run import RunSpec
from scheduler.clusters.cluster import Array, Job
from scheduler.context import Site
from scheduler.submit.submission import finish, launch
from scheduler.ticks.cancel import stop
from scheduler.ticks.recover import recover
from store import runs
from store.session import transaction
from store.tables import Experiment as Stored
from store.tables import Run, now
from tests.conftest import Experiment
from tests.scheduler.conftest import Puppet, read, states
from tests.scheduler.test_arrays import AT_ONCE, SLURM, Far, sizes, sweep_of

NOW = 0.0  # a moment that has passed: a tick takes what steps it must, and no more


@pytest.fixture
def far() -> Far:
    return Far()


@pytest.fixture
def site(engine: Engine, far: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Two runs are many here, and their folders are written one in a step."""
    monkeypatch.setattr("scheduler.submit.submission.FEW", 1)
    monkeypatch.setattr("scheduler.submit.select.FEW", 1)
    monkeypatch.setattr("scheduler.submit.submission.PORTION", 1)
    return Site(engine, {"slurm": far}, tmp_path / "runs", local_ranks=1)


def test_a_tick_ends_after_a_step_and_the_next_one_goes_on(
    site: Site, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_ids, prepared = sweep_of(site, experiment, 4), list[str]()
    prepare = RunFolder.prepare

    def noted(folder: RunFolder, spec: RunSpec, attempt: int) -> None:
        prepared.append(folder.path.name)
        prepare(folder, spec, attempt)

    monkeypatch.setattr(RunFolder, "prepare", noted)
    before, ticks = 0, 0
    while not far.jobs:
        launch(site, NOW)
        assert len(prepared) - before <= 2, "a tick wrote more folders than it had to"
        assert states(site) == [State.PENDING if far.jobs else State.SUBMITTING] * 4
        before, ticks = len(prepared), ticks + 1
    assert ticks >= 3
    assert prepared == [site.folder_of(read(site, run_id)).path.name for run_id in run_ids], "each once"
    assert (sizes(far), site.begun) == ([4], {})


def test_a_submission_says_at_every_step_that_it_goes_on(
    site: Site, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a file server that is slow: between two ticks so long goes by that whoever stands still is given up."""
    monkeypatch.setattr("scheduler.submit.submission.RENEW_S", 0.0)
    sweep_of(site, experiment, 4)
    launch(site, NOW)
    ticks = 0
    while not far.jobs:
        with transaction(site.engine) as db:
            db.execute(update(Run).values(moved_at=now() - timedelta(seconds=600)))
        launch(site, NOW)
        recover(replace(site, once=set()))
        ticks += 1
    assert ticks >= 5, "folders and links"
    assert (sizes(far), states(site)) == ([4], [State.PENDING] * 4)


def test_a_search_that_settles_nothing_rests(
    site: Site, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: no attempt of a submission that was lost can be claimed, as on a full disk."""

    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    sweep_of(site, experiment, 2)
    launch(site, NOW)
    site.begun.clear()
    searches = list[object]()
    monkeypatch.setattr(far, "find", lambda names: searches.append(names) or dict.fromkeys(names))
    later = [time.monotonic()]
    monkeypatch.setattr("scheduler.ticks.recover.time", SimpleNamespace(monotonic=lambda: later[0]))
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "claim", full)
        for _ in range(60):
            recover(site, AT_ONCE)
            later[0] += 2.0
        assert len(searches) == 4, "at once, and after 10, 20 and 40 s"
    later[0] += 600.0
    recover(site, AT_ONCE)
    assert states(site) == [State.QUEUED] * 2


def test_a_few_runs_do_not_wait_for_the_many_that_came_before(site: Site, far: Far, experiment: Experiment) -> None:
    sweep_of(site, experiment, 4)
    with transaction(site.engine) as db:
        runs.create(db, experiment(resources=SLURM | {"minutes": 7}))
    launch(site, NOW)
    launch(site, NOW)
    assert sizes(far) == [1]
    launch(site)
    assert sizes(far) == [1, 4]


def test_many_more_wait_until_those_before_are_submitted(site: Site, far: Far, experiment: Experiment) -> None:
    sweep_of(site, experiment, 8)
    launch(site, NOW)
    launch(site, NOW)
    assert states(site) == [State.SUBMITTING] * 4 + [State.QUEUED] * 4
    launch(site)
    assert sizes(far) == [4, 4]


def test_the_many_keep_their_call_of_the_cluster(
    site: Site, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a cluster that may be called once more: a single run comes while a sweep is prepared."""

    def once(*, besides: int = 0) -> bool:
        return besides + len(far.jobs) < 1

    monkeypatch.setattr(far, "may_submit", once)
    sweep_of(site, experiment, 4)
    launch(site, NOW)
    with transaction(site.engine) as db:
        runs.create(db, experiment(resources=SLURM | {"minutes": 7}))
    launch(site)
    assert sizes(far) == [4]


def test_a_worker_that_is_asked_to_end_brings_what_it_began_to_its_end(
    site: Site, far: Far, experiment: Experiment
) -> None:
    sweep_of(site, experiment, 4)
    launch(site, NOW)
    assert far.jobs == {}
    finish(site)
    assert (sizes(far), states(site), site.begun) == ([4], [State.PENDING] * 4, {})


def test_what_a_dead_worker_had_begun_is_submitted_by_another_once(
    site: Site, far: Far, experiment: Experiment
) -> None:
    """Forces the fault: a worker dies between two ticks, with one of four folders written."""
    run_ids = sweep_of(site, experiment, 4)
    launch(site, NOW)
    other = replace(site, begun={})
    recover(other, AT_ONCE)
    launch(other)
    assert (sizes(far), {read(site, run_id).attempt for run_id in run_ids}) == ([4], {2})


def test_what_was_given_up_between_two_ticks_is_not_submitted(site: Site, far: Far, experiment: Experiment) -> None:
    """Forces the fault: a launcher that stood still for so long that another gave its submission up."""
    run_ids = sweep_of(site, experiment, 4)
    launch(site, NOW)
    recover(site, AT_ONCE)
    launch(site)
    assert (sizes(far), {read(site, run_id).attempt for run_id in run_ids}) == ([4], {2})
    assert states(site) == [State.PENDING] * 4


def test_a_stop_between_two_ticks_is_kept(site: Site, far: Far, experiment: Experiment) -> None:
    run_ids = sweep_of(site, experiment, 4)
    launch(site, NOW)
    with transaction(site.engine) as db:
        runs.want_stop(db, Run.id.in_(run_ids))
    stop(site)
    launch(site)
    stop(site)
    assert sizes(far) == [4]
    assert sorted(job for job, _ in far.cancelled) == [f"job1_{task}" for task in range(4)]


def test_eight_launchers_in_steps_submit_a_sweep_once(site: Site, far: Far, experiment: Experiment) -> None:
    """Forces the race: eight launchers, each with a memory of its own, take turns at a step."""
    run_ids, together = sweep_of(site, experiment, 50), threading.Barrier(8)

    def go() -> None:
        mine = replace(site, begun={})
        together.wait()
        while True:
            launch(mine, NOW)
            if not mine.begun and State.QUEUED not in states(site):
                return

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(sizes(far)) == 50
    assert len({read(site, run_id).job_id for run_id in run_ids}) == 50


@pytest.mark.parametrize(("pack", "tasks", "synced_once"), [(None, 4, 5), (2, 2, 7)])
def test_all_is_on_the_disk_when_the_cluster_is_asked_and_nothing_is_written_down_twice(
    site: Site,
    far: Far,
    experiment: Experiment,
    monkeypatch: pytest.MonkeyPatch,
    pack: int | None,
    tasks: int,
    synced_once: int,
) -> None:
    """The specs and the folders of links, those of runs that share a job too, each synced once, before sbatch."""
    run_ids, synced, found = sweep_of(site, experiment, 4), list[int](), list[int]()
    with transaction(site.engine) as db:
        db.execute(update(Stored).values(pack=pack))
    sync = os.fsync

    def noted(file: int) -> None:
        sync(file)
        synced.append(os.fstat(file).st_ino)

    def submit(job: Job | Array) -> str:
        specs = [site.folder_of(read(site, run_id)).path / "spec.json" for run_id in run_ids]
        shared = [path for path in job.folder.path.iterdir() if path.is_dir() and not path.is_symlink()]
        found.extend(path.stat().st_ino for path in (*specs, job.folder.path, *shared))
        assert sorted(synced) == sorted(found)
        return Puppet.submit(far, job)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(far, "submit", submit)
    launch(site)
    assert (sizes(far), len(found)) == ([tasks], synced_once)
