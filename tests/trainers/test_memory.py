"""Samples in the ranks' memory: an exchange loses no sample, and each rank stores the samples that it uses."""

import hashlib
import threading
import time
import tracemalloc
from collections import Counter
from functools import partial

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.data.memory_store.assignment import assign_samples
from trainers.data.memory_store.exchange import Exchange
from trainers.data.memory_store.sample_store import READERS, SampleStore
from trainers.data.sampler import permutation, shares, slices

EPOCHS = 4


class Numbered:
    """Samples that contain their number, of 0 to 96 bytes; records which samples are read."""

    def __init__(self, samples: int) -> None:
        self.labels = torch.arange(samples)
        self.read_numbers: list[int] = []

    def read(self, number: int) -> bytes:
        self.read_numbers.append(number)
        return content(number)

    def size(self, number: int) -> int:
        return len(content(number))

    def path(self, number: int) -> object:
        return number


def content(number: int) -> bytes:
    return bytes([number % 256]) * (number * 37 % 97)


def used_samples(ranks: range, *, samples: int, batch: int, epoch: int, world: int) -> Tensor:
    return shares(permutation(samples, seed=1, epoch=epoch), batch, ranks=ranks, world=world).flatten(1)


def arrange_epochs(samples: int, batch: int, group_size: int, segment: int) -> list[list[int]]:
    """Arrange several epochs, check that all used samples are in memory, and return the stored numbers per epoch."""
    world, rank = dist.get_world_size(), dist.get_rank()
    groups = [dist.new_group(list(range(first, first + group_size))) for first in range(0, world, group_size)]
    files = Numbered(samples)
    store = SampleStore(files, groups[rank // group_size], segment=segment)
    held = []
    for epoch in range(EPOCHS):
        samples_of = partial(used_samples, samples=samples, batch=batch, epoch=epoch, world=world)
        shard = store.arrange(epoch, samples_of)
        first_reads = len(files.read_numbers)
        for number in samples_of(range(rank, rank + 1))[0].tolist():
            assert shard.read(number) == content(number)
        assert len(files.read_numbers) == first_reads == len(shard.number_S)
        assert all(shard.read(number) == content(number) for number in shard.number_S.tolist())
        held.append(shard.number_S.tolist())
    return held


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("world", "group", "samples", "batch"),
    [(1, 1, 11, 4), (2, 2, 23, 6), (3, 3, 50, 12), (4, 2, 41, 8), (4, 4, 103, 100)],
)
@pytest.mark.parametrize("segment", [64, 2**30])
def test_an_exchange_preserves_every_sample_and_every_count(
    world: int, group: int, samples: int, batch: int, segment: int
) -> None:
    """A segment of 64 bytes causes dozens of rounds, and samples longer than a segment."""
    held = on_ranks(world, arrange_epochs, samples, batch, group, segment)
    for epoch in range(EPOCHS):
        for first in range(0, world, group):
            parts = [held[rank][epoch] for rank in range(first, first + group)]
            assert sorted(number for part in parts for number in part) == list(range(samples))
            assert [len(part) for part in parts] == [samples // group + (r < samples % group) for r in range(group)]
    # a group of one exchanges nothing
    assert any(len({tuple(epochs) for epochs in rank}) > 1 for rank in held) == (group > 1)


def test_every_rank_stores_every_sample_equally_often() -> None:
    """Chi-square of 60 samples on 4 ranks over 400 epochs: 60 x 3 degrees of freedom, deviation sqrt(2 x 180) = 19."""
    world, samples, epochs = 4, 60, 400
    count_NR = torch.zeros(samples, world)
    for epoch in range(epochs):
        order_N = permutation(samples, seed=0, epoch=epoch)
        samples_of = [torch.cat(list(slices(order_N, 16, rank=rank, world=world))) for rank in range(world)]
        for rank, number_S in enumerate(assign_samples(samples_of, samples=samples, epoch=epoch)):
            count_NR[number_S, rank] += 1
    expected = epochs / world
    chi_square = ((count_NR - expected) ** 2 / expected).sum().item()
    assert 180 - 4 * 19 < chi_square < 180 + 4 * 19


def test_unused_samples_are_spread_evenly() -> None:
    assignment = assign_samples([torch.tensor([3, 1]), torch.tensor([0]), torch.tensor([7, 2])], samples=8, epoch=0)
    assert [part.tolist()[:taken] for part, taken in zip(assignment, (2, 1, 2), strict=True)] == [[3, 1], [0], [7, 2]]
    assert [len(part) for part in assignment] == [3, 3, 2]
    assert sorted(assignment.number_N.tolist()) == list(range(8))


def test_a_sample_that_two_ranks_use_is_refused() -> None:
    with pytest.raises(ValueError, match="4 of 8 samples are used and 5 are not: some are used twice"):
        assign_samples([torch.tensor([3, 1]), torch.tensor([1, 0])], samples=8, epoch=0)


def test_a_rank_that_uses_more_than_its_share_is_refused() -> None:
    with pytest.raises(ValueError, match="uses 1 samples more than its share of 4 samples on 2 ranks"):
        assign_samples([torch.tensor([3, 1, 2]), torch.tensor([0])], samples=4, epoch=0)


def test_the_counts_differ_by_at_most_one() -> None:
    counts = Counter(
        len(part) for part in assign_samples([torch.tensor([], dtype=torch.int64)] * 7, samples=100, epoch=0)
    )
    assert counts == {15: 2, 14: 5}


def test_the_assignment_is_that_of_earlier_versions() -> None:
    """A run that was started by an earlier version resumes with the same samples in every rank's memory."""
    used_RS = used_samples(range(64), samples=1_281_167, batch=2048, epoch=1, world=64)
    assignment = assign_samples(used_RS.unbind(), samples=1_281_167, epoch=1)
    assert hashlib.sha256(assignment.number_N.numpy().tobytes()).hexdigest().startswith("fc0ab2c49d4b6e22")


def test_the_bookkeeping_of_a_shuffle_costs_a_rank_less_than_a_second_at_256_ranks() -> None:
    """A rank that goes through all samples once per rank takes 20 s of a core here, and more with more ranks."""
    world, samples, batch = 256, 1_281_167, 256 * 32
    used = partial(used_samples, range(world), samples=samples, batch=batch, world=world)
    before = assign_samples(used(epoch=0).unbind(), samples=samples, epoch=0)
    length_N = torch.randint(50_000, 150_000, (samples,), generator=torch.Generator().manual_seed(0))
    start_s = time.process_time()
    after = assign_samples(used(epoch=1).unbind(), samples=samples, epoch=1)
    exchange = Exchange(before, after, length_N, me=3)
    assert time.process_time() - start_s < 1
    assert exchange.new_bytes == int(length_N[after[3]].sum())


def test_a_file_that_changes_while_it_is_read_is_an_error() -> None:
    (error,) = on_ranks(1, read_a_changing_file)
    assert error == "3 had 15 bytes and has 14: it changed while it was read"


class Changing(Numbered):
    def size(self, number: int) -> int:
        return super().size(number) + (number == 3)


def read_a_changing_file() -> str:
    with pytest.raises(OSError, match="it changed") as caught:
        SampleStore(Changing(8)).arrange(0, lambda ranks: torch.arange(8).view(1, 8))
    return str(caught.value)


LOADED, FILE_BYTES = 160, 1 << 18  # 40 MiB of samples


class SlowFiles:
    """Files of a shared disk, on which many reads run at once; notes the most threads that read, and the bytes."""

    def __init__(self) -> None:
        self.labels = torch.arange(LOADED)
        self.lock, self.reading, self.most = threading.Lock(), 0, 0

    def read(self, number: int) -> bytes:
        with self.lock:
            self.reading += 1
            self.most = max(self.most, self.reading)
        time.sleep(0.02)
        content = bytes([number]) * FILE_BYTES
        with self.lock:
            self.reading -= 1
        return content

    def size(self, number: int) -> int:
        return FILE_BYTES

    def path(self, number: int) -> object:
        return number


def load_in_threads() -> tuple[int, int, bool]:
    """Load all samples on one rank; return the bytes at the peak, the most threads, and whether the blob is right.

    NumPy and torch report no allocations to tracemalloc, so the files' bytes are traced, and the blob is added.
    """
    files = SlowFiles()
    store = SampleStore(files, dist.group.WORLD)
    tracemalloc.start()
    shard = store.arrange(0, lambda ranks: torch.arange(LOADED)[None])
    _, traced = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    is_right = all(shard.read(number) == bytes([number]) * FILE_BYTES for number in range(LOADED))
    return traced + shard.blob.numel(), files.most, is_right


def test_loading_into_memory_holds_one_copy_and_a_file_for_each_of_16_threads() -> None:
    """The first version held three copies at its peak and read one file after the other."""
    ((peak, threads, is_right),) = on_ranks(1, load_in_threads)
    assert is_right
    assert threads == READERS
    # a thread has at most two contents: the next is read before the last one is dropped
    assert peak < LOADED * FILE_BYTES + 2.5 * READERS * FILE_BYTES
