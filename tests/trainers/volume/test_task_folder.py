"""Leases: one worker holds a task, a lost one comes back, and done is for ever."""

import os
import threading
from pathlib import Path

import pytest

from trainers.volume.task_folder import Lease, Renewal, TaskFolder, Worker


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def worker_of(
    folder: Path, clock: Clock, *, run: str = "a", attempt: int = 1, rank: int = 0, world: int = 1
) -> TaskFolder:
    return TaskFolder(folder, Worker(run, attempt, rank, world), lease_s=10, clock=clock, sleep=clock.sleep)


def test_each_task_has_one_holder_among_many_threads(tmp_path: Path) -> None:
    """Race: eight workers lease 60 tasks as fast as they can."""
    taken: list[int] = []

    def work(rank: int) -> None:
        tasks = TaskFolder(tmp_path, Worker("a", 1, rank, 8), lease_s=60)
        while lease := tasks.take("chunks", 60):
            taken.append(lease.index)
            assert tasks.finish(lease, 0.0)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [*range(60)]


def test_a_lease_without_a_sign_of_life_comes_back_after_its_time(tmp_path: Path) -> None:
    clock = Clock()
    lost = worker_of(tmp_path, clock, run="lost").take("chunks", 1)
    assert lost == Lease("chunks", 0, 1)
    assert worker_of(tmp_path, clock, run="other").take("chunks", 1) == Lease("chunks", 0, 2)
    assert 10 <= clock.now < 13


def test_a_renewed_lease_stays_with_its_worker(tmp_path: Path) -> None:
    clock = Clock()
    holder, other = worker_of(tmp_path, clock, run="holder"), worker_of(tmp_path, clock, run="other")
    lease = holder.take("chunks", 1)
    assert lease
    ticks = 0

    def renew() -> None:
        nonlocal ticks
        ticks += 1
        if ticks < 200:
            os.utime(tmp_path / "chunks" / "0.1.lease", ns=(ticks, ticks))  # the clock of the file system stands still
        else:
            holder.finish(lease, 1.0)

    assert other.take("chunks", 1, renew) is None
    assert clock.now > 90
    assert holder.is_mine(lease)


def test_a_worker_whose_task_was_taken_over_knows_it_and_cannot_undo_done(tmp_path: Path) -> None:
    clock = Clock()
    slow, fast = worker_of(tmp_path, clock, run="slow"), worker_of(tmp_path, clock, run="fast")
    first = slow.take("chunks", 1)
    second = fast.take("chunks", 1)
    assert first
    assert second
    assert (slow.is_mine(first), fast.is_mine(second)) == (False, True)
    assert fast.finish(second, 1.0)
    assert not slow.finish(first, 9.0)
    assert slow.take("chunks", 1) is None


def test_of_several_workers_that_see_a_lost_lease_one_takes_it(tmp_path: Path) -> None:
    """Race: sixteen workers have seen the same lease end, and take it at the same moment."""
    clock = Clock()
    worker_of(tmp_path, clock, run="lost").take("chunks", 1)
    others = [worker_of(tmp_path, clock, run=f"other {number}") for number in range(16)]
    looked = others[0].look("chunks")
    for one in others:
        assert one._free_tasks("chunks", 1, looked) == []
    clock.now = 11
    start, taken = threading.Barrier(16), []

    def take(one: TaskFolder) -> None:
        ready = one._free_tasks("chunks", 1, looked)
        start.wait()
        taken.extend(
            [lease for index, generation in ready if (lease := one._claim(Lease("chunks", index, generation)))]
        )

    threads = [threading.Thread(target=take, args=(one,)) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == [Lease("chunks", 0, 2)]


def test_the_next_attempt_of_a_run_takes_its_own_leases_at_once(tmp_path: Path) -> None:
    clock = Clock()
    worker_of(tmp_path, clock, attempt=1).take("chunks", 1)
    assert worker_of(tmp_path, clock, attempt=2, rank=1, world=2).take("chunks", 1) == Lease("chunks", 0, 2)
    assert clock.now == 0


def test_a_task_that_was_given_back_is_taken_at_once(tmp_path: Path) -> None:
    clock = Clock()
    holder = worker_of(tmp_path, clock, run="holder")
    lease = holder.take("chunks", 1)
    assert lease
    holder.give_back(lease)
    assert worker_of(tmp_path, clock, run="other").take("chunks", 1) == Lease("chunks", 0, 2)
    assert clock.now == 0


def test_workers_begin_at_different_places(tmp_path: Path) -> None:
    clock = Clock()
    first = [worker_of(tmp_path, clock, rank=rank, world=4).take("chunks", 100) for rank in range(4)]
    assert [lease.index for lease in first if lease] == [0, 25, 50, 75]


def test_a_lease_that_was_cut_by_a_crash_is_no_lease_and_a_strange_file_is_no_task(tmp_path: Path) -> None:
    (tmp_path / "chunks").mkdir()
    (tmp_path / "chunks" / ".0.1.lease.12.draft").write_bytes(b"{")
    (tmp_path / "chunks" / "readme").write_bytes(b"")
    assert worker_of(tmp_path, Clock()).take("chunks", 1) == Lease("chunks", 0, 1)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("holds", [True, False])
def test_the_thread_renews_only_the_current_lease(tmp_path: Path, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = TaskFolder(tmp_path, Worker("a"), lease_s=60)
    lease = tasks.take("chunks", 1)
    assert lease
    renewed = threading.Event()
    monkeypatch.setattr(tasks, "renew", lambda lease: renewed.set())
    renewal = Renewal(tasks, lease_s=0.02)
    renewal.current = lease if holds else None
    assert renewed.wait(30 if holds else 0.1) == holds
    renewal.stop()
