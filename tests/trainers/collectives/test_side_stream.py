"""Sums on a GPU run on one kept stream beside that of the passes, and a number is read by waiting for its copy alone.

The streams here note what they are asked for: this machine has none.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from trainers.collectives.runners import async_allreduce, side_stream
from trainers.collectives.runners.async_allreduce import AsyncAllreduce, runs_on_stream, wait_for_sum
from trainers.collectives.runners.side_stream import HostCopy, SideStream
from trainers.rules.centers.replicated_center import ReplicatedCenter
from trainers.rules.early_means import EarlyMeans

CPU = torch.device("cpu")


class Streams:
    """Has the part of torch.cuda that the code uses, and notes each use with the stream that is current."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.made = 0
        self.current = "passes"

    def Stream(self, *device: torch.device) -> "Stream":  # noqa: N802  # torch's name
        self.made += 1
        return Stream(self, f"side {self.made}")

    def Event(self) -> "Event":  # noqa: N802  # torch's name
        return Event(self)

    def current_stream(self, device: torch.device) -> "Stream":
        return Stream(self, self.current)

    @contextmanager
    def stream(self, stream: "Stream") -> Iterator[None]:
        before, self.current = self.current, stream.name
        try:
            yield
        finally:
            self.current = before

    def note(self, event: str) -> None:
        self.events.append(f"{event} on {self.current}")


class Stream:
    def __init__(self, streams: Streams, name: str) -> None:
        self.streams, self.name = streams, name

    def wait_stream(self, other: "Stream") -> None:
        self.streams.events.append(f"{self.name} waits for {other.name}")


class Event:
    def __init__(self, streams: Streams) -> None:
        self.streams = streams

    def record(self) -> None:
        self.streams.note("record")

    def synchronize(self) -> None:
        self.streams.events.append("the host waits for the record")


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    """Replaces the streams, and treats the CPU as a device that has some."""
    found = Streams()
    monkeypatch.setattr(side_stream, "device_streams", lambda device: found)
    monkeypatch.setattr(async_allreduce, "runs_on_stream", lambda device_type: True)
    return found


def doubling(streams: Streams, threads: list[int]) -> "async_allreduce.Allreduce":
    def double(x_N: Tensor) -> None:
        streams.note("sum")
        threads.append(threading.get_ident())
        x_N *= 2

    return double


def test_gpus_sum_on_a_stream_and_cpus_in_a_thread() -> None:
    assert runs_on_stream("cuda")
    assert not runs_on_stream("cpu")


def test_all_sums_share_one_stream_which_waits_for_the_passes(streams: Streams) -> None:
    threads: list[int] = []
    sums = AsyncAllreduce(doubling(streams, threads))
    for _ in range(40):  # torch has 32 streams for a program, and would give each of them memory
        assert wait_for_sum(sums.start(torch.ones(2))).tolist() == [2.0, 2.0]
    assert streams.made == 1
    assert streams.events == ["side 1 waits for passes", "sum on side 1"] * 40
    assert streams.current == "passes"


def test_the_exchange_of_sync_easgd_3_leaves_the_stream_of_the_passes_free(streams: Streams) -> None:
    """In a thread of its own the exchange would be given to the default stream, which the passes use."""
    threads: list[int] = []
    center = ReplicatedCenter(torch.zeros(3), allreduce=doubling(streams, threads), world=2, overlap=True)
    for _ in range(2):
        center.begin_exchange(torch.ones(3), 0.5, torch.tensor([1.0, 0.0], dtype=torch.float64))
        center.end_exchange()
    assert streams.events == ["side 1 waits for passes", "sum on side 1"] * 2
    assert set(threads) == {threading.get_ident()}


def test_early_means_and_buckets_share_a_stream_so_every_rank_sums_in_one_order(streams: Streams) -> None:
    side = SideStream()
    threads: list[int] = []
    early = EarlyMeans(doubling(streams, threads), world=2, side=side)
    sums = AsyncAllreduce(doubling(streams, threads), side=side)
    early.begin(torch.tensor([3.0, 1.0], dtype=torch.float64))
    sums.start(torch.ones(1))
    means = early.read()
    assert means is not None
    assert means.tolist() == [3.0, 1.0]
    assert early.read() is None
    assert streams.events == [
        "side 1 waits for passes",
        "sum on side 1",
        "record on side 1",
        "side 1 waits for passes",
        "sum on side 1",
        "the host waits for the record",
    ]


def test_a_copy_keeps_its_memory(streams: Streams) -> None:
    copy = HostCopy()
    copy.begin(torch.tensor([1.0]))
    first = copy.read()
    copy.begin(torch.tensor([2.0]))
    assert copy.read() is first
    assert first.tolist() == [2.0]
    copy.begin(torch.tensor([2.0, 3.0], dtype=torch.float64))
    assert copy.read().tolist() == [2.0, 3.0]


def test_on_a_cpu_the_same_code_runs_with_torchs_own_streams() -> None:
    early = EarlyMeans(lambda means_N: None, world=1, side=SideStream())
    early.begin(torch.tensor([1.5]))
    means = early.read()
    assert means is not None
    assert means.tolist() == [1.5]
