"""Samples in memory: the exchange before an epoch runs beside the last steps of the epoch before."""

import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from contract.spec.batch_schedule import Position
from contract.spec.run import RunSpec
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.data.loader import Loader
from trainers.data.memory_store.exchange import Exchange
from trainers.data.memory_store.sample_store import SampleShard, SampleStore
from trainers.data.split import Batch, SamplesOf
from trainers.ranks.rank_info import local_rank_info
from trainers.training import data_feed
from trainers.training.data_feed import LAST_PART, DataFeed

SAMPLES, BATCH, EPOCHS = 128, 8, 3
STEPS = SAMPLES // BATCH
EXCHANGE_S = 0.3


class Numbers:
    """Files whose content is their number."""

    def __init__(self) -> None:
        self.labels = torch.arange(SAMPLES)

    def read(self, number: int) -> bytes:
        return number.to_bytes(4, "little")

    def size(self, number: int) -> int:
        return 4

    def path(self, number: int) -> object:
        return number


@dataclass(frozen=True)
class Held:
    """A split of samples in memory."""

    store: SampleStore | None
    shard: SampleShard | None = None

    def __len__(self) -> int:
        return SAMPLES

    @property
    def is_exchanged(self) -> bool:
        return self.store is not None and self.store.is_exchanged

    def stage(self, epoch: int, samples_of: SamplesOf) -> "Held":
        assert self.store is not None
        return replace(self, store=None, shard=self.store.arrange(epoch, samples_of))

    def batch(self, index_B: Tensor) -> Batch:
        assert self.shard is not None
        assert (self.shard.slot_N[index_B] >= 0).all(), "each sample of this rank is in its memory"
        read = [int.from_bytes(self.shard.read(number), "little") for number in index_B.tolist()]
        return index_B, torch.tensor(read)


def feed_of(group_size: int, workers: int) -> DataFeed:
    world, rank = dist.get_world_size(), dist.get_rank()
    groups = [dist.new_group(list(range(first, first + group_size))) for first in range(0, world, group_size)]
    run = RunSpec.model_validate(
        {
            "data": {"kind": "synthetic", "train_samples": SAMPLES},
            "batch": BATCH,
            "micro_batch": 2,
            "epochs": EPOCHS,
            "model": {"kind": "convnet"},
            "optimizer": {"kind": "sgd"},
            "schedule": {"kind": "constant", "rate": 0.1},
        }
    )
    return DataFeed(
        Held(SampleStore(Numbers(), groups[rank // group_size], shared=True)),
        run.batch_schedule,
        seed=1,
        rank_info=local_rank_info(rank, world),
        device=torch.device("cpu"),
        micro_batch=2,
        loader=Loader(workers),
    )


def train(
    group_size: int, first: tuple[int, int], step_s: float
) -> tuple[list[tuple[int, int]], list[float], list[int]]:
    """Take all steps; return at which pass each exchange began, the waits for first batches, and all samples.

    Ranks have different numbers of workers, hence of batches ahead; each exchange takes EXCHANGE_S longer.
    """
    began: list[tuple[int, int]] = []
    waits, samples = [], []
    position = [0, 0]
    real, begin = Exchange.run, data_feed.Staging

    def slow(self: Exchange, blob: Tensor, new: Tensor, *, group: dist.ProcessGroup | None = None) -> None:
        time.sleep(EXCHANGE_S)
        real(self, blob, new, group=group)

    def noted(*arguments: Any) -> data_feed.Staging:
        began.append((position[0], position[1]))  # in the thread that trains
        return begin(*arguments)

    with (
        patch.object(Exchange, "run", slow),
        patch.object(data_feed, "Staging", noted),
        closing(feed_of(group_size, workers=1 + dist.get_rank() % 2)) as feed,
    ):
        for epoch in range(first[0], EPOCHS):
            start, position[:] = time.perf_counter(), [epoch, 0]
            for inputs, y_B in feed.epoch_batches(Position(epoch, first[1] if epoch == first[0] else 0)):
                assert torch.equal(inputs[0], y_B)
                if position[1] == 0:
                    waits.append(time.perf_counter() - start)
                position[1] += 1
                samples += y_B.tolist()
                total = torch.ones(1)
                dist.all_reduce(total)  # a step's sum, beside the exchange
                assert total.item() == dist.get_world_size()
                time.sleep(step_s)
    return began, waits, samples


@pytest.mark.ring("all")
def test_the_exchange_begins_before_the_last_steps_at_one_pass_on_all_ranks() -> None:
    """Ranks with other numbers of workers would begin at other passes, and wait for each other in a divergence."""
    found = on_ranks(2, train, 2, (0, 0), 0.0)
    passes = STEPS * 2  # of two samples each on this rank
    expected = [(epoch, passes - -(-passes // LAST_PART)) for epoch in range(EPOCHS - 1)]
    for began, _, samples in found:
        assert began == expected
        assert len(samples) == EPOCHS * SAMPLES // 2
    for epoch in range(EPOCHS):
        part = slice(epoch * SAMPLES // 2, (epoch + 1) * SAMPLES // 2)
        assert sorted(found[0][2][part] + found[1][2][part]) == list(range(SAMPLES))


@pytest.mark.ring("all")
def test_the_first_batch_of_a_later_epoch_does_not_wait_for_the_exchange() -> None:
    """The less of two waits is checked, since the machine may be busy. The last four passes take 0.48 s."""
    found = on_ranks(2, train, 2, (0, 0), 0.12)
    for began, waits, _ in found:
        assert len(began) == len(waits) - 1 == 2
        assert min(waits[1:]) < EXCHANGE_S


@pytest.mark.ring("all")
def test_a_resumed_run_has_the_same_samples_within_the_last_part_of_an_epoch() -> None:
    whole = on_ranks(2, train, 2, (0, 0), 0.0)
    resumed = on_ranks(2, train, 2, (1, STEPS - 1), 0.0)
    for (_, _, samples), (began, _, rest) in zip(whole, resumed, strict=True):
        assert rest == samples[len(samples) - len(rest) :]
        assert len(rest) == (SAMPLES + BATCH) // 2
        assert len(began) == 1


def refuse_to_exchange(path: str) -> tuple[list[int], bool]:
    """Read all epochs with a group of one rank, where an exchange is an error."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a group of one rank exchanges nothing")

    samples: list[int] = []
    with patch.object(Exchange, "__init__", refuse), closing(feed_of(1, workers=1)) as feed:
        ahead = []
        for epoch in range(EPOCHS):
            for _, y_B in feed.epoch_batches(Position(epoch, 0)):
                samples += y_B.tolist()
            ahead.append(feed._next is not None)
    return samples, ahead == [True, True, False]


@pytest.mark.ring("all")
def test_a_group_of_one_rank_exchanges_nothing_and_loads_ahead(tmp_path: Path) -> None:
    (first, is_ahead), (second, _) = on_ranks(2, refuse_to_exchange, str(tmp_path))
    assert is_ahead
    assert sorted(first[: SAMPLES // 2] + second[: SAMPLES // 2]) == list(range(SAMPLES))


def fail_to_exchange() -> str:
    """Return the error that a failed exchange causes in the thread that trains."""

    def break_off(*_: object, **__: object) -> None:
        raise OSError("the memory is gone")

    with patch.object(Exchange, "run", break_off), closing(feed_of(dist.get_world_size(), workers=1)) as feed:
        try:
            for epoch in range(EPOCHS):
                list(feed.epoch_batches(Position(epoch, 0)))
        except OSError as error:
            return str(error)
    return ""


@pytest.mark.ring("all")
def test_an_error_of_the_exchange_ends_the_rank() -> None:
    assert on_ranks(2, fail_to_exchange) == ["the memory is gone"] * 2
