"""Checkpoints of several ranks, written during training: complete when every rank's part is on disk, else deleted."""

import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed import HashStore  # type: ignore[attr-defined]

from trainers.checkpoints import checkpoint_writer
from trainers.checkpoints.checkpoint_directory import SHARED, CheckpointDirectory, rank_part
from trainers.checkpoints.checkpoint_writer import CheckpointWriter
from trainers.checkpoints.save_result import SaveResult

WORLD = 3


def writers(path: Path, departed_ranks: Callable[[], Collection[int]] | None = None) -> list[CheckpointWriter]:
    store = HashStore()
    return [
        CheckpointWriter(
            CheckpointDirectory(path, retained=2),
            store,
            rank=rank,
            world=WORLD,
            attempt=1,
            about={"rank": "any"},
            departed_ranks=departed_ranks,
        )
        for rank in range(WORLD)
    ]


def save(all_ranks: list[CheckpointWriter], step: int, weights: torch.Tensor) -> SaveResult:
    for rank, one in reversed(list(enumerate(all_ranks))):
        one.save(step, {"weights": weights}, {"rank": rank})
    for one in all_ranks:
        one.wait()
    outcome = all_ranks[0].take_result()
    assert outcome is not None
    assert all_ranks[0].take_result() is None, "a result is returned once"
    return outcome


def test_a_checkpoint_has_the_part_of_every_rank(tmp_path: Path) -> None:
    outcome = save(writers(tmp_path), 7, torch.ones(5))
    directory = CheckpointDirectory(tmp_path, retained=2)
    (name,) = directory.list_complete()
    manifest = directory.read_manifest(name)
    assert (manifest.world, set(manifest.parts)) == (WORLD, {SHARED, *(rank_part(rank) for rank in range(WORLD))})
    assert [directory.read_part(name, manifest, rank_part(rank)) for rank in range(WORLD)] == [
        {"rank": r} for r in range(WORLD)
    ]
    assert torch.equal(directory.read_part(name, manifest, SHARED)["weights"], torch.ones(5))
    assert (outcome.error, outcome.size_bytes) == (None, manifest.size_bytes)
    assert 0 < outcome.stall_s < outcome.write_s


def test_training_may_change_the_weights_while_a_checkpoint_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: the weights change after `save` returns and before their first byte is written."""
    may_write, write_part = threading.Event(), CheckpointDirectory.write_part

    def late(*args: Any) -> Any:
        may_write.wait(10)
        return write_part(*args)

    monkeypatch.setattr(CheckpointDirectory, "write_part", late)
    weights, all_ranks = torch.ones(5), writers(tmp_path)
    for rank, one in enumerate(all_ranks):
        one.save(7, {"weights": weights}, {"rank": rank})
    weights.zero_()
    assert all_ranks[0].is_busy
    assert all_ranks[0].take_result() is None
    may_write.set()
    all_ranks[0].wait()
    directory = CheckpointDirectory(tmp_path, retained=2)
    (name,) = directory.list_complete()
    assert torch.equal(directory.read_part(name, directory.read_manifest(name), SHARED)["weights"], torch.ones(5))


@pytest.mark.parametrize("unlucky", range(WORLD))
def test_a_rank_that_cannot_write_is_reported_and_the_previous_checkpoint_remains(
    unlucky: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a full disk for one rank's part of the second checkpoint; the third checkpoint is complete again."""
    all_ranks, write_part = writers(tmp_path), CheckpointDirectory.write_part
    save(all_ranks, 1, torch.ones(5))

    def full(self: CheckpointDirectory, step: int, attempt: int, name: str, state: Any) -> Any:
        if name == rank_part(unlucky) and step == 2:
            raise OSError(28, "No space left on device")
        return write_part(self, step, attempt, name, state)

    monkeypatch.setattr(CheckpointDirectory, "write_part", full)
    outcome = save(all_ranks, 2, torch.ones(5))
    assert outcome.error is not None
    assert f"rank {unlucky}" in outcome.error
    assert "No space left" in outcome.error
    directory = CheckpointDirectory(tmp_path, retained=2)
    assert [directory.read_manifest(name).step for name in directory.list_complete()] == [1]
    assert not directory.folder(2, 1).exists()
    assert save(all_ranks, 3, torch.ones(5)).error is None
    assert [directory.read_manifest(name).step for name in directory.list_complete()] == [3, 1]


def test_the_wait_for_a_rank_that_never_writes_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces a rank 2 that does not exist."""
    monkeypatch.setattr(checkpoint_writer, "PART_TIMEOUT_S", 0.2)
    first, second, _ = writers(tmp_path)
    for rank, one in ((1, second), (0, first)):
        one.save(7, {}, {"rank": rank})
    first.wait()
    outcome = first.take_result()
    assert outcome is not None
    assert outcome.error == "not every rank has written its part within 0.2 s"
    assert CheckpointDirectory(tmp_path, retained=2).list_complete() == []


def test_an_asynchronous_checkpoint_lacks_a_lost_rank(tmp_path: Path) -> None:
    """Forces the loss of rank 1; rank 2 has finished, and has written its part before."""
    first, _, third = writers(tmp_path, lambda: {1, 2})
    third.save(7, {}, {"rank": 2})
    third.wait()
    first.save(7, {}, {"rank": 0})
    first.wait()
    outcome = first.take_result()
    assert outcome is not None
    assert outcome.error is None
    directory = CheckpointDirectory(tmp_path, retained=2)
    (name,) = directory.list_complete()
    assert set(directory.read_manifest(name).parts) == {SHARED, rank_part(0), rank_part(2)}


def test_an_asynchronous_checkpoint_lacks_a_late_rank(tmp_path: Path) -> None:
    """Forces a rank 2 that does not write before the time-out."""
    first, second, _ = writers(tmp_path, lambda: ())
    first.timeout_s = 0.2
    for rank, one in ((1, second), (0, first)):
        one.save(7, {}, {"rank": rank})
        one.wait()  # wait for rank 1, which may be slow too
    directory = CheckpointDirectory(tmp_path, retained=2)
    (name,) = directory.list_complete()
    assert set(directory.read_manifest(name).parts) == {SHARED, rank_part(0), rank_part(1)}
