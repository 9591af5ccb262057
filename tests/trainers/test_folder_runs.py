"""Runs on an image folder: the same batches from files, from memory and from workers, and clear errors."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from contract.folder.events import Failed, Resumed
from contract.folder.run_folder import RunFolder
from contract.spec.batch_schedule import Position
from tests.testing.trainers.attempts import Signal, attempt, curve
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.jobs import events, finish, prepare, start
from tests.testing.trainers.pictures import tree
from trainers.build import data
from trainers.data.images.image_folder import listings
from trainers.data.sampler import permutation, slices
from trainers.ranks.rank_info import here
from trainers.training.data_feed import Feed


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tree(tmp_path_factory.mktemp("images"), {"train/cat": 20, "train/dog": 19, "val/cat": 4, "val/dog": 3})


def prepare_run(path: Path, root: Path, run: dict[str, Any] | None = None, **choices: Any) -> RunFolder:
    stated = {
        "classes": 2,
        "train_samples": 39,
        "heldout_samples": 7,
        "size": 16,
        "workers": 0,
        "mean": [0.5, 0.5, 0.4],
    }
    return prepare(
        path,
        data={"kind": "folder", "path": str(root), **stated, **choices},
        batch=8,
        collective={"kind": "native"},
        resources={"kind": "local", "ranks_per_node": 2},
        **run or {},
    )


def fed(folder: RunFolder) -> list[tuple[float, list[int]]]:
    """Go through two epochs, the first from its second step on, as a rank does; return what every step was given."""
    run, place = folder.read_spec(), here(dist.get_rank(), dist.get_world_size())
    train, _ = data.data(run.data, run.seed, bad_images=folder.bad_images)
    workers = run.data.workers
    feed = Feed(train, run.course, seed=run.seed, place=place, device=torch.device("cpu"), workers=workers)
    given = []
    for position in (Position(epoch=0, step=1), Position(epoch=1, step=0)):
        for (x_BCHW,), y_B in feed.epoch(position):
            given.append((x_BCHW.double().sum().item(), y_B.tolist()))
    return given


def test_memory_and_workers_change_no_batch(tmp_path: Path, root: Path) -> None:
    plain = on_ranks(2, fed, prepare_run(tmp_path / "plain", root))
    assert [len(rank) for rank in plain] == [7, 7]
    for number, choices in enumerate(({"workers": 1, "in_memory": {}}, {"in_memory": {"group": 1}})):
        assert on_ranks(2, fed, prepare_run(tmp_path / str(number), root, **choices)) == plain


def test_a_killed_run_finds_its_images_again_where_the_shuffle_had_put_them(tmp_path: Path, root: Path) -> None:
    """SIGKILL to rank 1 as the third epoch ends: images have moved between the ranks' memories before every epoch."""
    saved = {"checkpoint": {"every_steps": 5}, "epochs": 4, "optimizer": {"kind": "sgd", "momentum": 0.9}}
    saved["schedule"] = {"kind": "constant", "rate": 0.01}
    whole, killed = (prepare_run(tmp_path / name, root, run=saved, in_memory={}) for name in ("whole", "killed"))
    assert attempt(whole, 1) == [0, 0]
    assert -signal.SIGKILL in attempt(killed, 1, blow=Signal(signal.SIGKILL, after=12), victims=[1])
    assert attempt(killed, 2) == [0, 0]
    assert [event.step for event in events(killed) if isinstance(event, Resumed)] == [10]
    assert curve(killed) == curve(whole)
    assert list(curve(whole)) == list(range(1, 17))


def test_counts_that_are_not_those_of_the_folder_are_found_before_the_first_step(tmp_path: Path, root: Path) -> None:
    folder = prepare_run(tmp_path, root, train_samples=40)
    run = folder.read_spec()
    with pytest.raises(ValueError, match=r"not what the spec states: data.train_samples is 40, but there are 39"):
        data.data(run.data, run.seed, bad_images=folder.bad_images)


def broken(root: Path) -> list[Path]:
    """Files that are no images: one for each of two ranks in the first step of seed 0, and one that is held out."""
    root = tree(root, {"train/cat": 20, "train/dog": 19, "val/cat": 4, "val/dog": 3})
    train, heldout, _ = listings(root)
    order_N = permutation(len(train), seed=0, epoch=0)
    paths = [train.path(int(next(slices(order_N, 8, rank=rank, world=2))[0])) for rank in (0, 1)] + [heldout.path(2)]
    for path in paths:
        path.write_bytes(b"no image")
    return paths


@pytest.mark.parametrize("workers", [0, 1])
def test_bad_images_are_named_and_counted_once_over_all_ranks_epochs_and_splits(tmp_path: Path, workers: int) -> None:
    """Forces files that are no images; within four epochs either rank comes to most of them."""
    paths = broken(tmp_path / "images")
    folder = prepare_run(tmp_path / "run", tmp_path / "images", {"epochs": 4}, workers=workers, max_bad_images=3)
    status, said = finish(start(folder))
    assert status == 0
    lines = [line for line in said.splitlines() if "cannot be decoded" in line]
    assert sorted(line.split(" cannot be")[0] for line in lines) == sorted(map(str, paths))
    assert {line.split("place, ")[1] for line in lines} >= {"2 of at most 3", "3 of at most 3"}
    notes = [note.read_text() for note in folder.bad_images.iterdir()]
    assert sorted(note.split(" cannot be")[0] for note in notes) == sorted(map(str, paths))


def test_one_bad_image_more_than_allowed_ends_the_run_whichever_rank_has_it(tmp_path: Path) -> None:
    """Forces a file that is no image on each of two ranks; the error crosses from a worker to its rank."""
    paths = broken(tmp_path / "images")
    folder = prepare_run(tmp_path / "run", tmp_path / "images", workers=1, max_bad_images=1)
    status, _ = finish(start(folder))
    assert status == 1
    (reason,) = [event.reason for event in events(folder) if isinstance(event, Failed)]
    assert any(f"{path} cannot be decoded" in reason for path in paths[:2])
    assert "images like it: 2, data.max_bad_images: 1" in reason
