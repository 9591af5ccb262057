"""Runs on an image folder: the same batches from files, from memory and from workers, and clear errors."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from contract.course import Position
from contract.event import Failed, Resumed
from contract.folder import RunFolder
from tests.trainers.attempts import Signal, attempt, curve
from tests.trainers.jobs import events, finish, prepare, start
from tests.trainers.pictures import tree
from tests.trainers.ranks import on_ranks
from trainers.build import data
from trainers.feed import Feed
from trainers.place import here


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
    train, _ = data.data(run.data, run.seed)
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
    """SIGKILL to rank 1 in the third epoch: images have moved between the ranks' memories before every epoch."""
    saved = {"checkpoint": {"every_steps": 2}, "epochs": 4, "optimizer": {"kind": "sgd", "momentum": 0.9}}
    saved["schedule"] = {"kind": "constant", "rate": 0.01}
    whole, killed = (prepare_run(tmp_path / name, root, run=saved, in_memory={}) for name in ("whole", "killed"))
    assert attempt(whole, 1) == [0, 0]
    assert -signal.SIGKILL in attempt(killed, 1, blow=Signal(signal.SIGKILL, after=11), victims=[1])
    assert attempt(killed, 2) == [0, 0]
    assert [event.step for event in events(killed) if isinstance(event, Resumed)] == [10]
    assert curve(killed) == curve(whole)
    assert list(curve(whole)) == list(range(1, 17))


def test_counts_that_are_not_those_of_the_folder_are_found_before_the_first_step(tmp_path: Path, root: Path) -> None:
    run = prepare_run(tmp_path, root, train_samples=40).read_spec()
    with pytest.raises(ValueError, match=r"not what the spec states: data.train_samples is 40, but there are 39"):
        data.data(run.data, run.seed)


def test_an_image_that_a_worker_cannot_decode_is_named_in_the_runs_reason(tmp_path: Path) -> None:
    """Forces files that are no images; the error crosses from a worker to its rank."""
    root = tree(tmp_path / "images", {"train/cat": 20, "train/dog": 19, "val/cat": 4, "val/dog": 3})
    for path in (root / "train" / "dog").iterdir():
        path.write_bytes(b"no image")
    folder = prepare_run(tmp_path / "run", root, workers=1, max_bad_images=1)
    status, _ = finish(start(folder))
    assert status == 1
    (reason,) = [event.reason for event in events(folder) if isinstance(event, Failed)]
    assert "cannot be decoded" in reason
    assert "images like it: 2, data.max_bad_images: 1" in reason
