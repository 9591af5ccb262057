"""One rank lists an image folder for all; every rank gets the same numbers, classes and errors as if it had listed."""

import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from contract.spec.choices.data import Folder
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.pictures import tree
from trainers.build.data import build_data
from trainers.data.images.image_folder import list_images
from trainers.data.images.image_split import Images

WORLD = 3
SCANS = ("os.scandir", "os.listdir")


def build_counted(root: str, choices: dict[str, Any]) -> tuple[int, list[list[str]], list[list[int]], str]:
    """Return how often this rank scanned the folder, the files and classes of both splits, and the error."""
    scans: list[str] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in SCANS and str(arguments[0]).startswith(root):
            scans.append(event)

    sys.addaudithook(note)
    folder = Folder.model_validate({"path": root, "classes": 2, "train_samples": 9, "heldout_samples": 5, **choices})
    try:
        splits = build_data(folder, seed=1, bad_images=Path(root) / "bad")
    except (ValueError, OSError) as error:
        return len(scans), [], [], f"{type(error).__name__}: {error}"
    names, labels = [], []
    for split in splits:
        assert isinstance(split, Images)
        names.append([str(split.source.path(number)) for number in range(len(split))])
        labels.append(split.source.labels.tolist())
        assert torch.equal(split.batch(torch.tensor([0]))[1], split.source.labels[:1])  # the path leads to a file
    return len(scans), names, labels, ""


def make_folder(path: Path) -> Path:
    root = tree(path / "images", {"train/cat": 5, "train/dog": 4, "val/cat": 2, "val/dog": 3})
    (root / "train" / "cat" / "000.png").rename(os.fsdecode(bytes(root / "train" / "cat") + b"/00\xff\xc3\xa9 a.png"))
    return root


def test_one_rank_scans_and_all_have_its_numbers_and_names(tmp_path: Path) -> None:
    """Forces a name that is no UTF-8. Every rank used to scan every class folder."""
    root = make_folder(tmp_path)
    found = on_ranks(WORLD, build_counted, str(root), {})
    train, heldout, _ = list_images(root)
    names = [[str(split.path(number)) for number in range(len(split))] for split in (train, heldout)]
    labels = [train.labels.tolist(), heldout.labels.tolist()]
    assert [scans for scans, *_ in found[1:]] == [0, 0]
    assert found[0][0] > 0
    assert [rest for _, *rest in found] == [[names, labels, ""]] * WORLD


def test_an_image_list_is_read_by_that_rank_too(tmp_path: Path) -> None:
    root = make_folder(tmp_path)
    listed = tmp_path / "images.txt"
    listed.write_text("a0  train/dog/001.jpg\na1  train/cat/002.jpg\n")
    found = on_ranks(WORLD, build_counted, str(root), {"train_samples": 2, "image_list": str(listed)})
    for _, names, labels, error in found:
        assert error == ""
        assert [Path(name).name for name in names[0]] == ["002.jpg", "001.jpg"]
        assert labels[0] == [0, 1]


def test_all_ranks_end_with_the_error_of_the_rank_that_lists(tmp_path: Path) -> None:
    """Forces counts that differ from the spec's, and a folder that is gone."""
    root = make_folder(tmp_path)
    counts = on_ranks(WORLD, build_counted, str(root), {"train_samples": 8})
    assert {error for *_, error in counts} == {
        f"ValueError: {root} does not match the spec: data.train_samples is 8, but the data set has 9"
    }
    gone = on_ranks(WORLD, build_counted, str(tmp_path / "gone"), {})
    assert {error for *_, error in gone} == {f"ValueError: there is no folder {tmp_path / 'gone'}"}


def test_without_a_process_group_this_process_lists(tmp_path: Path) -> None:
    assert not dist.is_initialized()
    assert build_counted(str(make_folder(tmp_path)), {})[0] > 0
