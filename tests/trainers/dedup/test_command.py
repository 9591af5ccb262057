"""The command: its list trains, its reports have the groups, and bad images are listed instead of ending it."""

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

from bigbatch.cli import main as bigbatch
from contract.spec.choices.data import Folder, Shards
from tests.testing.trainers.jobs import HOUSE
from tests.testing.trainers.pictures import pictures
from tests.testing.trainers.shards import write
from trainers.build.data import build_data
from trainers.data.dedup.__main__ import DOCUMENT, LIST, PAGE, main
from trainers.data.dedup.altered_copies import alter
from trainers.data.dedup.image_source import open_source
from trainers.data.images.image_list import read_image_list

COPIES = {"train/cat/copy.jpg", "train/cat/equal.png", "train/dog/wrong-class.jpg"}


def picture(seed: int) -> np.ndarray:
    (pixels_HWC,) = pictures(1, 96, seed)
    return pixels_HWC


def write_picture(path: Path, pixels_HWC: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels_HWC).save(path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Ten different pictures, three copies of the first, and four to hold out."""
    folder = tmp_path / "images"
    for number in range(10):
        write_picture(folder / "train" / ("cat", "dog")[number % 2] / f"{number}.jpg", picture(number))
    rng = np.random.default_rng(0)
    for name in COPIES:
        write_picture(folder / name, picture(0) if "equal" in name else alter(picture(0), rng))
    for number in range(4):
        write_picture(folder / "val" / ("cat", "dog")[number % 2] / f"{number}.jpg", picture(100 + number))
    return folder


def dedup(monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", ["dedup", *map(str, words)])
    main()


def printed_data(out: str) -> dict[str, object]:
    data = yaml.safe_load(out)["data"]
    assert isinstance(data, dict)
    return data


def test_copies_are_left_out_and_the_printed_section_trains_on_the_others(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "train" / "dog" / "torn.jpg").write_bytes(b"\xff\xd8\xff no image")
    dedup(monkeypatch, root, "--out", tmp_path / "out")
    data = printed_data(capsys.readouterr().out)
    listed = read_image_list(tmp_path / "out" / LIST)
    assert len(listed) == 10
    assert not COPIES & listed
    choice = Folder.model_validate({**data, "size": 16, "workers": 0})
    train, heldout = build_data(choice, 0, bad_images=tmp_path / "bad")
    assert (len(train), len(heldout)) == (10, 4)
    _, y_B = train.batch(torch.arange(10))
    assert y_B.tolist() == 5 * [0] + 5 * [1]
    assert not (tmp_path / "bad").exists()


def test_the_report_has_the_groups_their_pictures_and_the_bad_images(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "train" / "dog" / "torn.jpg").write_bytes(b"\xff\xd8\xff no image")
    dedup(monkeypatch, root, "--out", tmp_path / "out")
    document = json.loads((tmp_path / "out" / DOCUMENT).read_text())
    assert (document["images"], document["kept"], document["left_out"]) == (14, 10, 3)
    assert document["groups_with_several_classes"] == 1
    (group,) = document["groups"]
    assert [member["path"] for member in group] == ["train/cat/0.jpg", *sorted(COPIES)]
    assert group[0]["distance"] == 0 < group[1]["distance"]
    assert [bad["path"] for bad in document["bad_images"]] == ["train/dog/torn.jpg"]
    page = (tmp_path / "out" / PAGE).read_text()
    assert page.count("data:image/") == 4
    assert "train/dog/torn.jpg" in page
    assert "http" not in page


def test_the_largest_image_of_a_group_stays(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = np.asarray(Image.fromarray(picture(0)).resize((192, 192)))
    write_picture(root / "train" / "dog" / "zoom.jpg", large)
    dedup(monkeypatch, root, "--out", tmp_path / "out", "--keep", "largest")
    listed = read_image_list(tmp_path / "out" / LIST)
    assert "train/dog/zoom.jpg" in listed
    assert "train/cat/0.jpg" not in listed
    assert len(listed) == 10


def test_shards_are_searched_as_their_folder_and_their_list_trains(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, tmp_path / "shards")
    dedup(monkeypatch, tmp_path / "shards", "--out", tmp_path / "out")
    listed = read_image_list(tmp_path / "out" / LIST)
    data = printed_data(capsys.readouterr().out)
    dedup(monkeypatch, root, "--out", tmp_path / "of-folder")
    assert len(listed) == len(read_image_list(tmp_path / "of-folder" / LIST)) == 10
    choice = Shards.model_validate({**data, "size": 16, "workers": 0})
    train, _ = build_data(choice, 0, bad_images=tmp_path / "bad")
    _, y_B = train.batch(torch.arange(10))
    assert y_B.tolist() == 5 * [0] + 5 * [1]
    folder = open_source(root)
    assert open_source(tmp_path / "shards").reader.read(3) == folder.reader.read(3)


def test_a_list_of_another_folder_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / LIST).write_text("ff00  train/cat/0.jpg\nff00  train/cat/absent.jpg\n")
    choice = Folder(path=str(root), classes=2, train_samples=2, heldout_samples=4, image_list=str(tmp_path / LIST))
    with pytest.raises(ValueError, match=r"lists train/cat/absent.jpg, which .* has not among its training images"):
        build_data(choice, 0, bad_images=tmp_path / "bad")


def test_a_list_of_another_length_than_stated_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / LIST).write_text("ff00  train/cat/0.jpg\n")
    choice = Folder(path=str(root), classes=2, train_samples=13, heldout_samples=4, image_list=str(tmp_path / LIST))
    with pytest.raises(ValueError, match="train_samples is 13, but the data set has 1"):
        build_data(choice, 0, bad_images=tmp_path / "bad")


def test_a_line_of_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / LIST).write_text("# a comment\nff00  fine.jpg\nno-hash.jpg\n")
    with pytest.raises(ValueError, match="line 3 of"):
        read_image_list(tmp_path / LIST)


def test_any_folder_of_images_is_a_collection_without_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        write_picture(tmp_path / "photos" / f"{number}.jpg", picture(number))
    write_picture(tmp_path / "photos" / "album" / "again.png", picture(1))
    dedup(monkeypatch, tmp_path / "photos", "--out", tmp_path / "out")
    assert capsys.readouterr().out.strip() == str(tmp_path / "out" / LIST)
    assert read_image_list(tmp_path / "out" / LIST) == {"0.jpg", "1.jpg", "2.jpg"}


def test_a_folder_without_images_ends_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        dedup(monkeypatch, tmp_path, "--out", tmp_path / "out")
    assert f"{tmp_path} has no image" in capsys.readouterr().err


@pytest.mark.ring("all")
def test_the_module_runs_as_a_program_with_progress_on_stderr(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trainers.data.dedup", str(root), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=True)
    assert "images hashed: 13 of 13" in done.stderr
    assert "10 stay, 3 are left out, 0 are unreadable" in done.stderr
    assert printed_data(done.stdout)["train_samples"] == 10


@pytest.mark.ring("all")
def test_the_bigbatch_command_passes_its_options_on(
    root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["dedup", str(root), "--out", str(tmp_path / "out"), "--hash", "difference", "--bits", "64"]
    with pytest.raises(SystemExit, match="0"):
        bigbatch([*words, "--threshold", "0"])
    assert printed_data(capfd.readouterr().out)["kind"] == "folder"
    document = json.loads((tmp_path / "out" / DOCUMENT).read_text())
    assert (document["hash"], document["bits"], document["threshold"]) == ("difference", 64, 0)
    with pytest.raises(SystemExit, match="2"):
        bigbatch(["dedup", str(tmp_path / "absent")])
    assert "there is no folder" in capfd.readouterr().err


def test_a_name_with_a_line_break_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = BytesIO()
    Image.fromarray(picture(0)).save(file, "PNG")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a\nb.png").write_bytes(file.getvalue())
    with pytest.raises(SystemExit, match="2"):
        dedup(monkeypatch, tmp_path / "photos", "--out", tmp_path / "out")
    assert "has a line break" in capsys.readouterr().err
