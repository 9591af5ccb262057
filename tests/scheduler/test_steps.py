"""Submissions of many runs: made in steps over several ticks, and safe against faults between two ticks."""

import errno
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, update

from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from scheduler.clusters.cluster import ArrayRequest, JobRequest
from scheduler.context import Context, Memory
from scheduler.submit.submission import finish_open, submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.recover import recover
from store import runs
from store.lifecycle import creation
from store.session import transaction
from store.tables.base import now
from store.tables.experiments import Experiment as Stored
from store.tables.runs import Job, Run
from tests.testing.clusters import SLURM, Far, Puppet, sizes
from tests.testing.runs import IMMEDIATELY, create_runs, job_of, read, states
from tests.testing.specs import Experiment

PAST = 0.0  # a moment that has passed: a tick takes the necessary steps alone


@pytest.fixture
def context(engine: Engine, far: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """A context in which two runs are many, and each step writes one folder."""
    monkeypatch.setattr("scheduler.submit.submission.SMALL", 1)
    monkeypatch.setattr("scheduler.submit.select.SMALL", 1)
    monkeypatch.setattr("scheduler.submit.folders.PORTION", 1)
    return Context(engine, {"slurm": far}, tmp_path / "runs", local_ranks=1)


def test_a_tick_ends_after_a_step_and_the_next_tick_goes_on(
    context: Context, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_ids, prepared = create_runs(context, experiment, 4), list[str]()
    prepare = RunFolder.prepare

    def noted(folder: RunFolder, *arguments: Any) -> None:
        prepared.append(folder.path.name)
        prepare(folder, *arguments)

    monkeypatch.setattr(RunFolder, "prepare", noted)
    before, ticks = 0, 0
    while not far.jobs:
        submit_queued(context, PAST)
        assert len(prepared) - before <= 2, "a tick wrote more folders than necessary"
        assert states(context) == [State.PENDING if far.jobs else State.SUBMITTING] * 4
        before, ticks = len(prepared), ticks + 1
    assert ticks >= 3
    assert prepared == [context.folder_of(read(context, run_id)).path.name for run_id in run_ids], "each once"
    assert (sizes(far), context.memory.open_submissions) == ([4], {})


def test_a_submission_renews_its_lease_at_every_step(
    context: Context, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a slow file server: so much time passes between two ticks that a lease without a renewal expires."""
    monkeypatch.setattr("scheduler.submit.folders.RENEW_S", 0.0)
    create_runs(context, experiment, 4)
    submit_queued(context, PAST)
    ticks = 0
    while not far.jobs:
        with transaction(context.engine) as db:
            db.execute(update(Job).values(lease_renewed_at=now() - timedelta(seconds=600)))
        submit_queued(context, PAST)
        recover(replace(context, memory=Memory()))
        ticks += 1
    assert ticks >= 5, "folders and links"
    assert (sizes(far), states(context)) == ([4], [State.PENDING] * 4)


def test_a_search_that_settles_nothing_pauses_for_longer_each_time(
    context: Context, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: no attempt of a submission that was lost can be claimed, as on a full disk."""

    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    create_runs(context, experiment, 2)
    submit_queued(context, PAST)
    context.memory.open_submissions.clear()
    searches = list[Sequence[str]]()

    def find(names: Sequence[str]) -> dict[str, None]:
        searches.append(names)
        return dict.fromkeys(names)

    monkeypatch.setattr(far, "find", find)
    later = [time.monotonic()]
    monkeypatch.setattr("scheduler.ticks.recover.time", SimpleNamespace(monotonic=lambda: later[0]))
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "claim", full)
        for _ in range(60):
            recover(context, IMMEDIATELY)
            later[0] += 2.0
        assert len(searches) == 4, "at once, and after 10, 20 and 40 s"
    later[0] += 600.0
    recover(context, IMMEDIATELY)
    assert states(context) == [State.QUEUED] * 2


def test_a_few_runs_do_not_wait_for_an_earlier_submission_of_many(
    context: Context, far: Far, experiment: Experiment
) -> None:
    create_runs(context, experiment, 4)
    with transaction(context.engine) as db:
        creation.create(db, experiment(resources=SLURM | {"minutes": 7}))
    submit_queued(context, PAST)
    submit_queued(context, PAST)
    assert sizes(far) == [1]
    submit_queued(context)
    assert sizes(far) == [1, 4]


def test_many_runs_wait_until_an_earlier_submission_of_many_is_made(
    context: Context, far: Far, experiment: Experiment
) -> None:
    create_runs(context, experiment, 8)
    submit_queued(context, PAST)
    submit_queued(context, PAST)
    assert states(context) == [State.SUBMITTING] * 4 + [State.QUEUED] * 4
    submit_queued(context)
    assert sizes(far) == [4, 4]


def test_an_open_submission_of_many_runs_reserves_its_call_of_the_cluster(
    context: Context, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the rate limit: one call is free, and a single run is created while many runs are prepared."""

    def once(*, single: bool = False, besides: int = 0) -> bool:
        return besides + len(far.jobs) < 1

    monkeypatch.setattr(far, "may_submit", once)
    create_runs(context, experiment, 4)
    submit_queued(context, PAST)
    with transaction(context.engine) as db:
        creation.create(db, experiment(resources=SLURM | {"minutes": 7}))
    submit_queued(context)
    assert sizes(far) == [4]


def test_a_worker_that_shuts_down_finishes_its_open_submissions(
    context: Context, far: Far, experiment: Experiment
) -> None:
    create_runs(context, experiment, 4)
    submit_queued(context, PAST)
    assert far.jobs == {}
    finish_open(context)
    assert (sizes(far), states(context), context.memory.open_submissions) == ([4], [State.PENDING] * 4, {})


def test_the_open_submission_of_a_dead_worker_is_made_once_by_another_worker(
    context: Context, far: Far, experiment: Experiment
) -> None:
    """Forces the fault: a worker dies between two ticks, with one of four folders written."""
    run_ids = create_runs(context, experiment, 4)
    submit_queued(context, PAST)
    other = replace(context, memory=Memory())
    recover(other, IMMEDIATELY)
    submit_queued(other)
    assert (sizes(far), {read(context, run_id).attempt for run_id in run_ids}) == ([4], {2})


def test_a_submission_whose_lease_expired_between_two_ticks_is_not_made(
    context: Context, far: Far, experiment: Experiment
) -> None:
    """Forces the fault: a worker stops for so long that its lease expires and its runs are queued again."""
    run_ids = create_runs(context, experiment, 4)
    submit_queued(context, PAST)
    recover(context, IMMEDIATELY)
    submit_queued(context)
    assert (sizes(far), {read(context, run_id).attempt for run_id in run_ids}) == ([4], {2})
    assert states(context) == [State.PENDING] * 4


def test_a_stop_request_between_two_ticks_is_carried_out(context: Context, far: Far, experiment: Experiment) -> None:
    run_ids = create_runs(context, experiment, 4)
    submit_queued(context, PAST)
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id.in_(run_ids))
    cancel(context)
    submit_queued(context)
    cancel(context)
    assert sizes(far) == [4]
    assert sorted(job for job, _ in far.cancelled) == [f"job1_{task}" for task in range(4)]


@pytest.mark.ring("all")
def test_eight_workers_in_steps_submit_fifty_runs_once_each(context: Context, far: Far, experiment: Experiment) -> None:
    """Forces the race: eight workers, each with its own memory, take their steps at the same time."""
    run_ids, barrier = create_runs(context, experiment, 50), threading.Barrier(8)

    def go() -> None:
        mine = replace(context, memory=Memory())
        barrier.wait()
        while True:
            submit_queued(mine, PAST)
            if not mine.memory.open_submissions and State.QUEUED not in states(context):
                return

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(sizes(far)) == 50
    assert len({job_of(context, run_id).external_id for run_id in run_ids}) == 50


@pytest.mark.parametrize(("pack", "tasks", "synced_once"), [(None, 4, 6), (2, 2, 8)])
def test_all_folders_are_synced_once_before_the_cluster_is_called(
    context: Context,
    far: Far,
    experiment: Experiment,
    monkeypatch: pytest.MonkeyPatch,
    pack: int | None,
    tasks: int,
    synced_once: int,
) -> None:
    """Each spec, the record of the experiment, and each folder of links or of a shared job, once before sbatch."""
    run_ids, synced, found = create_runs(context, experiment, 4), list[int](), list[int]()
    with transaction(context.engine) as db:
        db.execute(update(Stored).values(pack=pack))
    sync = os.fsync

    def noted(file: int) -> None:
        sync(file)
        synced.append(os.fstat(file).st_ino)

    def submit(job: JobRequest | ArrayRequest) -> str:
        specs = [context.folder_of(read(context, run_id)).path / "spec.json" for run_id in run_ids]
        shared = [path for path in job.folder.path.iterdir() if path.is_dir() and not path.is_symlink()]
        records = (context.runs_folder / ".services").glob("*/experiment-*.json")
        found.extend(path.stat().st_ino for path in (*specs, *records, job.folder.path, *shared))
        assert sorted(synced) == sorted(found)
        return Puppet.submit(far, job)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(far, "submit", submit)
    submit_queued(context)
    assert (sizes(far), len(found)) == ([tasks], synced_once)
