"""Workers that are killed at random moments: the outputs are those of one process, to the bit."""

import json
import os
import random
import signal
import sys
import time
from itertools import count
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest.mock import patch

import pytest

from contract.spec.volume.volume import Volume
from tests.testing.trainers.counted_writes import check_writes, work_counted
from tests.testing.trainers.volumes import SPEC, stored_blobs, write_input
from trainers.volume.__main__ import PAUSED
from trainers.volume.chunks import Shape
from trainers.volume.task_folder import Lease, TaskFolder, Worker
from trainers.volume.work.plan import CHUNKS, NUMBERS, make_plan
from trainers.volume.work.worker import Workbench

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", "trainers.training.engine", "trainers.volume.__main__", "scipy.ndimage"])
SMALL, LARGE = (20, 20, 24), (36, 40, 36)  # 27 and 125 chunks
PATIENCE_S = 240
LEASE_S = 0.5
FATAL_LEASE = 5
LOG = "writes"


def prepare(folder: Path, shape: Shape) -> Volume:
    """Make a run's folder with a volume."""
    write_input(folder / "em", shape)
    document = {**SPEC, "lease_s": LEASE_S}
    (folder / "spec.json").write_text(json.dumps({"kind": "program", "command": "true", "volume": document}))
    return Volume.model_validate(document)


def work_here(folder: Path, spec: Volume) -> None:
    plan = make_plan(spec, folder)
    Workbench(plan, TaskFolder(plan.work / "tasks", Worker("alone"), lease_s=60)).work()


def _live(folder: str) -> None:
    sys.exit(work_counted(Path(folder, LOG), 0, [folder]))


def start(folder: Path) -> BaseProcess:
    worker = CONTEXT.Process(target=_live, args=(str(folder),))
    worker.start()
    return worker


def outputs_of(folder: Path) -> dict[str, dict[str, str]]:
    return {name: stored_blobs(folder / name) for name in ("values", "labels")}


def carry_out_with_kills(folder: Path, most: int, rng: random.Random) -> int:
    """Let two workers carry out all tasks; kill one of them at random moments. Return the number of kills."""
    kills, workers = 0, [start(folder), start(folder)]
    end = time.monotonic() + PATIENCE_S
    try:
        while any(worker.exitcode != 0 for worker in workers):
            assert time.monotonic() < end, [worker.exitcode for worker in workers]
            time.sleep(rng.uniform(0.01, 0.4))
            victim = rng.randrange(2)
            if kills < most and workers[victim].is_alive():
                workers[victim].kill()
                workers[victim].join()
                kills += workers[victim].exitcode == -signal.SIGKILL
            for number, worker in enumerate(workers):
                if worker.exitcode not in (None, 0):
                    assert worker.exitcode == -signal.SIGKILL, "a worker failed"
                    workers[number] = start(folder)
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
    return kills


@pytest.mark.ring("all")
@pytest.mark.parametrize(("kills", "shape"), [(4, SMALL), pytest.param(100, LARGE, marks=pytest.mark.long)])
def test_killed_workers_leave_the_outputs_of_one_process(kills: int, shape: Shape, tmp_path: Path) -> None:
    """SIGKILL to one of two workers at random moments, also while both begin; each is replaced at once.

    Every block is written at least once, at most once for each lease of its task, and always with the same bytes.
    """
    rng, killed, volumes, taken, extra = random.Random(kills), 0, 0, 0, 0
    work_here(tmp_path / "alone", prepare(tmp_path / "alone", shape))
    wanted = outputs_of(tmp_path / "alone")
    while killed < kills:
        folder = tmp_path / str(volumes)
        spec = prepare(folder, shape)
        killed += carry_out_with_kills(folder, kills - killed, rng)
        volumes += 1
        assert outputs_of(folder) == wanted
        stages = {str(folder / "values"): CHUNKS, str(folder / "labels"): NUMBERS}
        counted = check_writes(folder / LOG, make_plan(spec, folder), stages)
        taken, extra = taken + counted.taken_over, extra + counted.writes - counted.blocks
    print(f"{killed} kills, {volumes} volumes, {taken} leases taken over, {extra} blocks written again")
    assert taken > 0 or kills < 100


class _InFinalizer:
    """Send SIGTERM while an object is deleted, where Python ignores exceptions."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def _end_in_a_write(folder: str) -> None:
    """Ask this worker to end while it writes a block of an output."""
    sync = os.fsync

    def sync_and_end(descriptor: int) -> None:
        if "values" in os.readlink(f"/proc/self/fd/{descriptor}"):
            signal.raise_signal(signal.SIGTERM)
        sync(descriptor)

    with patch.object(os, "fsync", sync_and_end):
        _live(folder)


def test_a_worker_that_ends_in_a_write_leaves_no_part_of_it(tmp_path: Path) -> None:
    """Force SIGTERM inside a write: outputs are hashed with all their files, so a draft would change the hash."""
    prepare(tmp_path, SMALL)
    worker = CONTEXT.Process(target=_end_in_a_write, args=(str(tmp_path),))
    worker.start()
    worker.join(PATIENCE_S)
    assert worker.exitcode == PAUSED
    assert list(tmp_path.rglob(".*.draft")) == []


def test_drafts_of_killed_workers_leave_outputs_when_they_are_old(tmp_path: Path) -> None:
    spec = prepare(tmp_path, SMALL)
    work_here(tmp_path, spec)
    plan = make_plan(spec, tmp_path)
    old, new = tmp_path / "values" / ".old.draft", tmp_path / "values" / ".new.draft"
    for draft in (old, new):
        draft.touch()
    os.utime(old, (time.time() - 60, time.time() - 60))
    Workbench(plan, TaskFolder(plan.work / "tasks", Worker("alone"), lease_s=60)).remove_drafts()
    assert (old.exists(), new.exists()) == (False, True)


def _end_at(moment: str, folder: str) -> None:
    """Work until the fifth lease, and ask this worker to end at a moment of it."""
    claim, number = TaskFolder._claim, count(1)

    def claim_and_end(tasks: TaskFolder, lease: Lease) -> Lease | None:
        found = claim(tasks, lease)
        if next(number) == FATAL_LEASE:
            signal.raise_signal(signal.SIGTERM) if moment == "between" else _InFinalizer()
        return found

    with patch.object(TaskFolder, "_claim", claim_and_end):
        _live(folder)


@pytest.mark.parametrize("moment", ["between", "finalizer"])
def test_a_lease_that_its_task_has_not_begun_is_given_back_too(moment: str, tmp_path: Path) -> None:
    """Force SIGTERM after a lease is taken and before its task begins, also inside a finalizer."""
    prepare(tmp_path, SMALL)
    worker = CONTEXT.Process(target=_end_at, args=(moment, str(tmp_path)))
    worker.start()
    worker.join(PATIENCE_S)
    assert worker.exitcode == PAUSED
    looked = TaskFolder(tmp_path / "volume" / "tasks", Worker("reader"), lease_s=60).look("chunks")
    assert len(looked.held) == FATAL_LEASE
    assert len(looked.done) == FATAL_LEASE - 1
    assert {(index, 1) for index in looked.held.keys() - looked.done} == looked.freed


def test_a_worker_that_is_asked_to_end_gives_its_task_back(tmp_path: Path) -> None:
    """SIGTERM in the middle of a task: the worker pauses, and its task is free at once."""
    spec = prepare(tmp_path, SMALL)
    worker = start(tmp_path)
    tasks = TaskFolder(tmp_path / "volume" / "tasks", Worker("reader"), lease_s=60)
    end = time.monotonic() + PATIENCE_S
    while len(tasks.look("chunks").done) < 3:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert worker.pid
    worker.terminate()
    worker.join(PATIENCE_S)
    assert worker.exitcode == PAUSED
    looked = tasks.look("chunks")
    held = {(index, generation) for index, generation in looked.held.items() if index not in looked.done}
    assert held <= looked.freed
    work_here(tmp_path, spec)
    assert outputs_of(tmp_path)["labels"]
