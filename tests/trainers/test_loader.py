"""Batches made ahead: the same ones in the same order, and what happens when a worker or its rank falls."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing import active_children, get_context
from pathlib import Path

import psutil
import pytest
import torch
from torch import Tensor

from tests.testing.trainers import loader_rank
from tests.testing.trainers.jobs import HOUSE, until
from trainers.data.loader import InWorker, WorkerLost, load
from trainers.data.split import Batch, Stored

BATCHES = list(torch.randperm(60, generator=torch.Generator().manual_seed(0)).split(4))


@pytest.fixture(autouse=True)
def no_worker_stays() -> Iterator[None]:
    before = {child.pid for child in active_children()}
    yield
    until(lambda: {child.pid for child in active_children()} <= before)


class Uneven:
    """Samples that take any time, and some of which are broken."""

    def __init__(self, broken: int = -1) -> None:
        self.broken = broken

    def __len__(self) -> int:
        return 60

    def batch(self, index_B: Tensor) -> Batch:
        time.sleep(random.random() / 100)
        if self.broken in index_B:
            raise KeyError(f"sample {self.broken} is broken")
        return (index_B.float(), index_B % 7), index_B + 1


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_batches_come_in_order_however_long_each_takes(workers: int) -> None:
    made = list(load(Uneven(), BATCHES, workers=workers))
    assert len(made) == len(BATCHES)
    for (inputs, target), index_B in zip(made, BATCHES, strict=True):
        assert isinstance(inputs, tuple)
        assert torch.equal(inputs[0], index_B.float())
        assert torch.equal(inputs[1], index_B % 7)
        assert torch.equal(target, index_B + 1)


def test_the_ranks_own_random_numbers_are_left_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    list(load(Uneven(), BATCHES[:3], workers=1))
    assert torch.equal(torch.get_rng_state(), before)


def test_an_error_in_a_worker_arrives_as_itself_with_its_trace_and_after_what_was_good() -> None:
    """Forces an exception in the sixth batch, which a worker makes before the fourth is asked for."""
    broken = int(BATCHES[5][0])
    got: list[Batch] = []
    with pytest.raises(KeyError, match=f"sample {broken} is broken") as caught:
        got.extend(load(Uneven(broken), BATCHES, workers=2))
    assert len(got) == 5
    assert isinstance(caught.value.__cause__, InWorker)
    assert "in batch" in str(caught.value.__cause__)
    assert f"sample {broken} is broken" in str(caught.value.__cause__)


class Unsendable(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


class Odd(Uneven):
    def batch(self, index_B: Tensor) -> Batch:
        raise Unsendable(1, 2)


def test_an_error_that_cannot_be_sent_says_the_same() -> None:
    """Forces an exception whose class cannot be made again from its arguments."""
    with pytest.raises(RuntimeError, match="Unsendable: 1 and 2"):
        list(load(Odd(), BATCHES, workers=1))


def test_a_worker_that_is_killed_is_an_error_within_seconds() -> None:
    """Forces the kernel's way of ending a process that takes too much memory."""
    with closing(load(loader_rank.Slow(), torch.arange(1000).split(2), workers=1)) as batches:
        next(batches)
        (worker,) = active_children()
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        start = time.monotonic()
        with pytest.raises(WorkerLost, match="a process that makes batches for this rank is gone"):
            list(batches)
        assert time.monotonic() - start < 60


def test_a_signal_to_the_whole_job_leaves_the_workers_to_their_rank() -> None:
    with closing(load(loader_rank.Slow(), torch.arange(60).split(2), workers=2)) as batches:
        got = [next(batches) for _ in range(4)]  # both workers are at work by now
        for worker in active_children():
            assert worker.pid is not None
            for number in (signal.SIGTERM, signal.SIGUSR2, signal.SIGINT):
                os.kill(worker.pid, number)
        got.extend(batches)
    assert torch.equal(torch.cat([target for _, target in got]), torch.arange(60))


def test_a_signal_passes_by_workers_that_are_just_being_started() -> None:
    """SIGTERM to the workers' server and to every worker as soon as it can be seen, again and again."""
    # a program of its own, as a rank is under Slurm: nothing that multiprocessing starts is there yet
    words = "from tests.testing.trainers.loader_rank import struck; struck()"
    subprocess.run([sys.executable, "-c", words], cwd=HOUSE, check=True, timeout=150)


def test_closing_in_the_middle_of_an_epoch_ends_the_workers() -> None:
    batches = load(loader_rank.Slow(), torch.arange(1000).split(2), workers=2)
    next(batches)
    workers = active_children()
    assert len(workers) == 2
    batches.close()
    until(lambda: not any(worker.is_alive() for worker in workers))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_rank(tmp_path: Path, number: signal.Signals) -> None:
    """Forces a rank that has no time to clean up."""
    told = tmp_path / "workers"
    rank = get_context("forkserver").Process(target=loader_rank.live, args=(told,))
    rank.start()
    until(lambda: told.exists() and len(told.read_text().split()) == 2)
    workers = [int(word) for word in told.read_text().split()]
    assert all(psutil.pid_exists(worker) for worker in workers)
    assert rank.pid is not None
    os.kill(rank.pid, number)
    rank.join()
    until(lambda: not any(alive(worker) for worker in workers))


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_stored_split_goes_through_workers_as_well() -> None:
    split = Stored(torch.rand(60, 1, 4, 4), torch.arange(60))
    for (x_BCHW, y_B), index_B in zip(load(split, BATCHES, workers=2), BATCHES, strict=True):
        assert isinstance(x_BCHW, Tensor)
        assert torch.equal(x_BCHW, split.x_NCHW[index_B])
        assert torch.equal(y_B, index_B)
