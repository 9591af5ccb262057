"""Checkpoints of several ranks, written beside training: whole when every rank's part is on disk, or given up."""

import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed import HashStore  # type: ignore[attr-defined]

from trainers.checkpoints import checkpoint_writer as writer
from trainers.checkpoints.checkpoint_directory import SHARED, Shelf, own
from trainers.checkpoints.checkpoint_writer import Writer
from trainers.checkpoints.save_result import Outcome

WORLD = 3


def writers(path: Path, left: Callable[[], Collection[int]] | None = None) -> list[Writer]:
    store = HashStore()
    return [
        Writer(Shelf(path, keep=2), store, rank=rank, world=WORLD, attempt=1, about={"rank": "any"}, left=left)
        for rank in range(WORLD)
    ]


def save(all_ranks: list[Writer], step: int, weights: torch.Tensor) -> Outcome:
    for rank, one in reversed(list(enumerate(all_ranks))):
        one.save(step, {"weights": weights}, {"rank": rank})
    for one in all_ranks:
        one.wait()
    outcome = all_ranks[0].outcome()
    assert outcome is not None
    assert all_ranks[0].outcome() is None, "told once"
    return outcome


def test_every_rank_s_part_is_in_a_checkpoint(tmp_path: Path) -> None:
    outcome = save(writers(tmp_path), 7, torch.ones(5))
    shelf = Shelf(tmp_path, keep=2)
    (name,) = shelf.names()
    manifest = shelf.manifest(name)
    assert (manifest.world, set(manifest.parts)) == (WORLD, {SHARED, *(own(rank) for rank in range(WORLD))})
    assert [shelf.read_part(name, manifest, own(rank)) for rank in range(WORLD)] == [{"rank": r} for r in range(WORLD)]
    assert torch.equal(shelf.read_part(name, manifest, SHARED)["weights"], torch.ones(5))
    assert (outcome.error, outcome.size_bytes) == (None, manifest.size_bytes)
    assert 0 < outcome.stall_s < outcome.write_s


def test_training_may_go_on_while_a_checkpoint_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the race: the weights change after `save` has returned and before a byte of them is written."""
    may_write, write_part = threading.Event(), Shelf.write_part

    def late(*args: Any) -> Any:
        may_write.wait(10)
        return write_part(*args)

    monkeypatch.setattr(Shelf, "write_part", late)
    weights, all_ranks = torch.ones(5), writers(tmp_path)
    for rank, one in enumerate(all_ranks):
        one.save(7, {"weights": weights}, {"rank": rank})
    weights.zero_()
    assert all_ranks[0].is_busy
    assert all_ranks[0].outcome() is None
    may_write.set()
    all_ranks[0].wait()
    shelf = Shelf(tmp_path, keep=2)
    (name,) = shelf.names()
    assert torch.equal(shelf.read_part(name, shelf.manifest(name), SHARED)["weights"], torch.ones(5))


@pytest.mark.parametrize("unlucky", range(WORLD))
def test_a_rank_that_cannot_write_is_named_and_the_checkpoint_before_stays(
    unlucky: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: no space for one rank's part of the second checkpoint; the third one is whole again."""
    all_ranks, write_part = writers(tmp_path), Shelf.write_part
    save(all_ranks, 1, torch.ones(5))

    def full(self: Shelf, step: int, attempt: int, name: str, state: Any) -> Any:
        if name == own(unlucky) and step == 2:
            raise OSError(28, "No space left on device")
        return write_part(self, step, attempt, name, state)

    monkeypatch.setattr(Shelf, "write_part", full)
    outcome = save(all_ranks, 2, torch.ones(5))
    assert outcome.error is not None
    assert f"rank {unlucky}" in outcome.error
    assert "No space left" in outcome.error
    shelf = Shelf(tmp_path, keep=2)
    assert [shelf.manifest(name).step for name in shelf.names()] == [1]
    assert not shelf.folder(2, 1).exists()
    assert save(all_ranks, 3, torch.ones(5)).error is None
    assert [shelf.manifest(name).step for name in shelf.names()] == [3, 1]


def test_a_rank_that_never_writes_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: rank 2 is gone."""
    monkeypatch.setattr(writer, "PATIENCE_S", 0.2)
    first, second, _ = writers(tmp_path)
    for rank, one in ((1, second), (0, first)):
        one.save(7, {}, {"rank": rank})
    first.wait()
    outcome = first.outcome()
    assert outcome is not None
    assert outcome.error == "not every rank has written its part within 0.2 s"
    assert Shelf(tmp_path, keep=2).names() == []


def test_a_checkpoint_of_ranks_that_go_their_own_ways_lacks_who_has_left(tmp_path: Path) -> None:
    """Forces the fault: rank 1 is lost and rank 2 has left, but not without its part."""
    first, _, third = writers(tmp_path, lambda: {1, 2})
    third.save(7, {}, {"rank": 2})
    third.wait()
    first.save(7, {}, {"rank": 0})
    first.wait()
    outcome = first.outcome()
    assert outcome is not None
    assert outcome.error is None
    shelf = Shelf(tmp_path, keep=2)
    (name,) = shelf.names()
    assert set(shelf.manifest(name).parts) == {SHARED, own(0), own(2)}


def test_a_checkpoint_of_ranks_that_go_their_own_ways_lacks_who_is_too_late(tmp_path: Path) -> None:
    """Forces the fault: rank 2 lives and does not come; rank 0 is in a hurry."""
    first, second, _ = writers(tmp_path, lambda: ())
    first.patience_s = 0.2
    for rank, one in ((1, second), (0, first)):
        one.save(7, {}, {"rank": rank})
        one.wait()  # rank 1 is in time, however slow the disk
    shelf = Shelf(tmp_path, keep=2)
    (name,) = shelf.names()
    assert set(shelf.manifest(name).parts) == {SHARED, own(0), own(1)}
