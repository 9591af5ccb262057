"""Runs on an image folder: the same batches from files, memory and workers, and their errors."""

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
from trainers.data.images.image_folder import list_images
from trainers.data.loader import Loader
from trainers.data.sampler import permutation, slices
from trainers.data.shards.conversion import Conversion
from trainers.data.shards.write_shards import write_shards
from trainers.ranks.rank_info import local_rank_info
from trainers.training.data_feed import DataFeed


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
        data={"kind": "folder", "path": str(root)} | stated | choices,
        batch=8,
        collective={"kind": "native"},
        resources={"kind": "local", "ranks_per_node": 2},
        **run or {},
    )


def fed_batches(folder: RunFolder) -> list[tuple[float, list[int]]]:
    """Iterate two epochs as a rank does, the first from its second step; return the batch of every step."""
    run, rank_info = folder.read_spec(), local_rank_info(dist.get_rank(), dist.get_world_size())
    train, _ = data.build_data(run.data, run.seed, bad_images=folder.bad_images)
    feed = DataFeed(
        train,
        run.batch_schedule,
        seed=run.seed,
        rank_info=rank_info,
        device=torch.device("cpu"),
        loader=Loader(run.data.workers),
    )
    batches = []
    for position in (Position(epoch=0, step=1), Position(epoch=1, step=0)):
        for (x_BCHW,), y_B in feed.epoch_batches(position):
            batches.append((x_BCHW.double().sum().item(), y_B.tolist()))
    feed.close()
    return batches


@pytest.mark.ring("all")
def test_memory_workers_and_shards_change_no_batch(tmp_path: Path, root: Path) -> None:
    plain = on_ranks(2, fed_batches, prepare_run(tmp_path / "plain", root))
    assert [len(rank) for rank in plain] == [7, 7]
    write_shards(root, tmp_path / "shards", Conversion(), heldout_samples=None, per_tar=10, processes=1)
    memory: list[dict[str, Any]] = [{"workers": 1, "in_memory": {}}, {"in_memory": {"group": 1}}]
    for number, choices in enumerate((*memory, {"workers": 2})):
        assert on_ranks(2, fed_batches, prepare_run(tmp_path / str(number), root, **choices)) == plain
    for number, choices in enumerate(({"workers": 1}, {"in_memory": {}})):
        sharded = prepare_run(tmp_path / f"sharded-{number}", tmp_path / "shards", kind="shards", **choices)
        assert on_ranks(2, fed_batches, sharded) == plain


@pytest.mark.ring("all")
def test_a_killed_run_resumes_with_its_images_in_the_same_ranks_memory(tmp_path: Path, root: Path) -> None:
    """Rank 1 gets SIGKILL at the end of the third epoch; images moved between the ranks before every epoch."""
    saved = {"checkpoint": {"every_steps": 5}, "epochs": 4, "optimizer": {"kind": "sgd", "momentum": 0.9}}
    saved["schedule"] = {"kind": "constant", "rate": 0.01}
    whole, killed = (prepare_run(tmp_path / name, root, run=saved, in_memory={}) for name in ("whole", "killed"))
    assert attempt(whole, 1) == [0, 0]
    assert -signal.SIGKILL in attempt(killed, 1, blow=Signal(signal.SIGKILL, after=12), victims=[1])
    assert attempt(killed, 2) == [0, 0]
    assert [event.step for event in events(killed) if isinstance(event, Resumed)] == [10]
    assert curve(killed) == curve(whole)
    assert list(curve(whole)) == list(range(1, 17))


def test_wrong_counts_are_found_before_the_first_step(tmp_path: Path, root: Path) -> None:
    folder = prepare_run(tmp_path, root, train_samples=40)
    run = folder.read_spec()
    with pytest.raises(ValueError, match=r"does not match the spec: data.train_samples is 40, but the data set has 39"):
        data.build_data(run.data, run.seed, bad_images=folder.bad_images)


def damage_files(root: Path) -> list[Path]:
    """Damage three files: one for each of two ranks in the first step of seed 0, and one held-out file."""
    root = tree(root, {"train/cat": 20, "train/dog": 19, "val/cat": 4, "val/dog": 3})
    train, heldout, _ = list_images(root)
    order_N = permutation(len(train), seed=0, epoch=0)
    paths = [train.path(int(next(slices(order_N, 8, rank=rank, world=2))[0])) for rank in (0, 1)] + [heldout.path(2)]
    for path in paths:
        path.write_bytes(b"no image")
    return paths


@pytest.mark.ring("all")
@pytest.mark.parametrize("workers", [0, 1])
def test_bad_images_are_named_and_counted_once_over_all_ranks_epochs_and_splits(tmp_path: Path, workers: int) -> None:
    """Within four epochs each rank reads most of the damaged files."""
    paths = damage_files(tmp_path / "images")
    folder = prepare_run(tmp_path / "run", tmp_path / "images", {"epochs": 4}, workers=workers, max_bad_images=3)
    status, output = finish(start(folder))
    assert status == 0
    lines = [line.split(": ", 1)[1] for line in output.splitlines() if "cannot be decoded" in line]  # without the rank
    assert sorted(line.split(" cannot be")[0] for line in lines) == sorted(map(str, paths))
    assert {line.split("replaces it, ")[1] for line in lines} >= {"2 of at most 3", "3 of at most 3"}
    notes = [note.read_text() for note in folder.bad_images.iterdir()]
    assert sorted(note.split(" cannot be")[0] for note in notes) == sorted(map(str, paths))


@pytest.mark.ring("all")
def test_one_bad_image_more_than_allowed_ends_the_run_on_any_rank(tmp_path: Path) -> None:
    """Each of two ranks has a damaged file; the error passes from a worker to its rank."""
    paths = damage_files(tmp_path / "images")
    folder = prepare_run(tmp_path / "run", tmp_path / "images", workers=1, max_bad_images=1)
    status, _ = finish(start(folder))
    assert status == 1
    (reason,) = [event.reason for event in events(folder) if isinstance(event, Failed)]
    assert any(f"{path} cannot be decoded" in reason for path in paths[:2])
    assert "bad images: 2, data.max_bad_images: 1" in reason


@pytest.mark.ring("all")
def test_a_torn_shard_ends_a_run_before_its_first_step_and_names_the_file(tmp_path: Path, root: Path) -> None:
    write_shards(root, tmp_path / "shards", Conversion(), heldout_samples=None, per_tar=10, processes=1)
    torn = tmp_path / "shards" / "train" / "00002.tar"
    torn.write_bytes(torn.read_bytes()[:-1])
    folder = prepare_run(tmp_path / "run", tmp_path / "shards", kind="shards")
    status, _ = finish(start(folder))
    assert status == 1
    (reason,) = [event.reason for event in events(folder) if isinstance(event, Failed)]
    assert f"{torn} has" in reason
    assert "it is not whole" in reason
    assert curve(folder) == {}
