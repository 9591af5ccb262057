"""The loader: the same batches in the same order with workers, and failures of a worker or a rank."""

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
from trainers.data.loader import Loader, WorkerLost, WorkerTraceback, load
from trainers.data.split import Batch, TensorSplit

BATCHES = list(torch.randperm(60, generator=torch.Generator().manual_seed(0)).split(4))


@pytest.fixture(autouse=True)
def no_worker_survives() -> Iterator[None]:
    before = {child.pid for child in active_children()}
    yield
    until(lambda: {child.pid for child in active_children()} <= before)


class Uneven:
    """Samples that load in a random time; one of them can raise an error."""

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
def test_batches_arrive_in_order_although_load_times_differ(workers: int) -> None:
    batches = list(load(Uneven(), BATCHES, workers=workers))
    assert len(batches) == len(BATCHES)
    for (inputs, target), index_B in zip(batches, BATCHES, strict=True):
        assert isinstance(inputs, tuple)
        assert torch.equal(inputs[0], index_B.float())
        assert torch.equal(inputs[1], index_B % 7)
        assert torch.equal(target, index_B + 1)


def test_the_ranks_random_state_is_unchanged() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    list(load(Uneven(), BATCHES[:3], workers=1))
    assert torch.equal(torch.get_rng_state(), before)


def test_an_error_in_a_worker_reaches_the_rank_with_its_traceback_after_the_good_batches() -> None:
    """The sixth batch raises; a worker loads it before the rank reads the fourth batch."""
    broken = int(BATCHES[5][0])
    got: list[Batch] = []
    with pytest.raises(KeyError, match=f"sample {broken} is broken") as caught:
        got.extend(load(Uneven(broken), BATCHES, workers=2))
    assert len(got) == 5
    assert isinstance(caught.value.__cause__, WorkerTraceback)
    assert "in batch" in str(caught.value.__cause__)
    assert f"sample {broken} is broken" in str(caught.value.__cause__)


class Unpicklable(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


class Unloadable(Uneven):
    def batch(self, index_B: Tensor) -> Batch:
        raise Unpicklable(1, 2)


def test_an_error_that_cannot_be_pickled_keeps_its_text() -> None:
    """The exception's class cannot be unpickled from its arguments."""
    with pytest.raises(RuntimeError, match="Unpicklable: 1 and 2"):
        list(load(Unloadable(), BATCHES, workers=1))


def test_a_killed_worker_is_an_error_within_seconds() -> None:
    """The kernel ends a process that runs out of memory by SIGKILL."""
    with closing(load(loader_rank.Slow(), torch.arange(1000).split(2), workers=1)) as batches:
        next(batches)
        (worker,) = active_children()
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        start = time.monotonic()
        with pytest.raises(WorkerLost, match="a worker process that loads batches for this rank has ended"):
            list(batches)
        assert time.monotonic() - start < 60


def test_workers_ignore_signals_to_the_whole_job() -> None:
    with closing(load(loader_rank.Slow(), torch.arange(60).split(2), workers=2)) as batches:
        got = [next(batches) for _ in range(4)]  # both workers have started
        for worker in active_children():
            assert worker.pid is not None
            for number in (signal.SIGTERM, signal.SIGUSR2, signal.SIGINT):
                os.kill(worker.pid, number)
        got.extend(batches)
    assert torch.equal(torch.cat([target for _, target in got]), torch.arange(60))


@pytest.mark.ring("all")
def test_workers_ignore_signals_while_they_start() -> None:
    """The forkserver and every worker get SIGTERM repeatedly from their start."""
    # A separate program, like a rank under Slurm: multiprocessing has not started its helper processes yet.
    words = "from tests.testing.trainers.loader_rank import load_under_signals; load_under_signals()"
    subprocess.run([sys.executable, "-c", words], cwd=HOUSE, check=True, timeout=150)


def test_closing_the_iterator_ends_the_workers() -> None:
    batches = load(loader_rank.Slow(), torch.arange(1000).split(2), workers=2)
    next(batches)
    workers = active_children()
    assert len(workers) == 2
    batches.close()
    until(lambda: not any(worker.is_alive() for worker in workers))


@pytest.mark.ring("all")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_rank(tmp_path: Path, number: signal.Signals) -> None:
    """The rank has no time to clean up."""
    pids = tmp_path / "workers"
    rank = get_context("forkserver").Process(target=loader_rank.run_rank, args=(pids,))
    rank.start()
    until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    workers = [int(word) for word in pids.read_text().split()]
    assert all(psutil.pid_exists(worker) for worker in workers)
    assert rank.pid is not None
    os.kill(rank.pid, number)
    rank.join()
    until(lambda: not any(is_alive(worker) for worker in workers))


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_workers_also_load_a_tensor_split() -> None:
    split = TensorSplit(torch.rand(60, 1, 4, 4), torch.arange(60))
    for (x_BCHW, y_B), index_B in zip(load(split, BATCHES, workers=2), BATCHES, strict=True):
        assert isinstance(x_BCHW, Tensor)
        assert torch.equal(x_BCHW, split.x_NCHW[index_B])
        assert torch.equal(y_B, index_B)


def test_the_workers_of_an_epoch_serve_the_next_one() -> None:
    with closing(Loader(2)) as loader:
        first = [target for _, target in loader.batches(loader_rank.Slow(), torch.arange(20).split(2))]
        workers = {child.pid for child in active_children()}
        second = [target for _, target in loader.batches(Uneven(), torch.arange(20).split(2))]
        assert {child.pid for child in active_children()} == workers
    assert torch.equal(torch.cat(first), torch.arange(20))
    assert torch.equal(torch.cat(second), torch.arange(20) + 1)


@pytest.mark.parametrize("pins", [False, True])
def test_memory_is_pinned_for_a_gpu_alone_also_where_the_host_has_gpus(
    pins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host with GPUs, whose driver a run on CPUs must not start: pin_memory makes a context on a GPU."""
    pinned: list[torch.Size] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)

    def pin(tensor: Tensor) -> Tensor:
        pinned.append(tensor.shape)
        return tensor

    monkeypatch.setattr(Tensor, "pin_memory", pin)
    with closing(Loader(1, pins=pins)) as loader:
        list(loader.batches(Uneven(), BATCHES[:2]))
    assert len(pinned) == (2 * 3 if pins else 0)  # two inputs and a target of each batch


def test_streams_may_be_read_in_turns() -> None:
    with closing(Loader(2)) as loader:
        streams = [loader.batches(Uneven(), BATCHES) for _ in range(3)]
        for parts in zip(*streams, [index_B + 1 for index_B in BATCHES], strict=True):
            assert all(torch.equal(part[1], parts[-1]) for part in parts[:-1])


def test_batches_of_a_closed_stream_are_skipped(tmp_path: Path) -> None:
    """The worker has two batches before it, and has begun the first when the stream is closed."""
    with closing(Loader(1)) as loader:
        closed = loader.batches(Recorded(tmp_path), torch.arange(20).split(1))
        closed.fill()
        until(lambda: (tmp_path / "0").exists())
        closed.close()
        (tmp_path / "go").touch()
        assert torch.equal(next(loader.batches(loader_rank.Slow(), [torch.arange(2)]))[1], torch.arange(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "go"]


class Recorded(Uneven):
    """A batch makes a file with its number, and then waits for the file "go"."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def batch(self, index_B: Tensor) -> Batch:
        (self.folder / str(int(index_B))).touch()
        until(lambda: (self.folder / "go").exists())
        return index_B, index_B


class Repeated(Uneven):
    """A split with a large part that must travel to a worker once; each message contains `epoch`."""

    def __init__(self, part: "CountsPickles", epoch: int) -> None:
        self.part, self.epoch = part, epoch

    @property
    def constants(self) -> tuple[object, ...]:
        return (self.part,)

    def batch(self, index_B: Tensor) -> Batch:
        return index_B + self.epoch, index_B + self.part.offset


class CountsPickles:
    def __init__(self) -> None:
        self.offset, self.pickled = 7, 0

    def __getstate__(self) -> dict[str, int]:
        self.pickled += 1
        return {"offset": self.offset, "pickled": self.pickled}


def test_the_constant_part_of_a_split_travels_once_to_each_worker() -> None:
    part = CountsPickles()
    with closing(Loader(2)) as loader:
        for epoch in range(3):
            for inputs, target in loader.batches(Repeated(part, epoch), torch.arange(8).split(2)):
                assert isinstance(inputs, Tensor)
                assert torch.equal(target - 7, inputs - epoch)
    assert part.pickled == 2
