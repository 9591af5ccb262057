"""The feed: an epoch begins with batches that were loaded while the epoch before still ran."""

import time
from collections.abc import Callable
from contextlib import closing

import pytest
import torch

from contract.spec.batch_schedule import Position
from contract.spec.run import RunSpec
from tests.testing.trainers.loader_rank import Slow
from trainers.data.loader import Loader
from trainers.ranks.rank_info import local_rank_info
from trainers.training.data_feed import DataFeed

STEP_S = 0.1  # more than a batch takes a worker
EPOCHS, STEPS = 3, 10


def feed_of(loader: Loader, before_next: Callable[[], None] | None = None) -> DataFeed:
    document = {
        "data": {"kind": "synthetic", "train_samples": 1000},
        "batch": 100,
        "epochs": EPOCHS,
        "model": {"kind": "convnet"},
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.1},
    }
    run = RunSpec.model_validate(document)
    cpu = torch.device("cpu")
    return DataFeed(
        Slow(),
        run.batch_schedule,
        seed=1,
        rank_info=local_rank_info(0, 1),
        device=cpu,
        loader=loader,
        before_next=before_next,
    )


def read_epochs(feed: DataFeed, first: Position) -> list[tuple[float, list[int]]]:
    """Take the steps of all epochs; return the seconds of waiting and the samples of each step."""
    steps = []
    for epoch in range(first.epoch, EPOCHS):
        batches = feed.epoch_batches(first if epoch == first.epoch else Position(epoch, 0))
        start = time.perf_counter()
        for _, y_B in batches:
            steps.append((time.perf_counter() - start, y_B.tolist()))
            time.sleep(STEP_S)
            start = time.perf_counter()
    return steps


@pytest.mark.ring("all")
def test_no_epoch_but_the_first_waits_for_its_first_batch() -> None:
    """Workers that start anew take a second or two. The less of two waits is checked, since the host may be busy."""
    with closing(feed_of(Loader(2))) as feed:
        steps = read_epochs(feed, Position(0, 0))
    assert len(steps) == EPOCHS * STEPS
    assert min(steps[STEPS][0], steps[2 * STEPS][0]) < 0.05


@pytest.mark.ring("all")
def test_loading_ahead_changes_no_batch_of_a_resumed_run() -> None:
    with closing(feed_of(Loader(2))) as feed, closing(feed_of(Loader(0))) as plain:
        start = Position(0, 0)
        whole = [samples for _, samples in read_epochs(plain, start)]
        assert [samples for _, samples in read_epochs(feed, start)] == whole
    with closing(feed_of(Loader(1))) as resumed:
        assert [samples for _, samples in read_epochs(resumed, Position(1, 4))] == whole[STEPS + 4 :]


def test_the_evaluation_is_loaded_ahead_once_per_epoch_before_the_next_epoch() -> None:
    calls: list[float] = []
    with closing(feed_of(Loader(1), lambda: calls.append(time.perf_counter()))) as feed:
        for epoch in range(EPOCHS):
            assert len(calls) == epoch
            assert len(list(feed.epoch_batches(Position(epoch, 0)))) == STEPS
            assert len(calls) == epoch + 1
