"""Shards: the same images as in the folder, readable by other tools, and clear errors for what is not whole."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

from contract.spec.choices.data import Shards
from tests.testing.trainers.jobs import HOUSE
from tests.testing.trainers.photographs import needs_jpegtran
from tests.testing.trainers.pictures import tree
from tests.testing.trainers.shards import contents, write
from trainers.data.images.bad_images import BadImages
from trainers.data.images.decoder import decode_pixels
from trainers.data.images.image_folder import list_images
from trainers.data.images.image_split import Images, new_bad_marks
from trainers.data.memory_store.sample_store import Files
from trainers.data.shards import sharded_images
from trainers.data.shards.conversion import Conversion
from trainers.data.shards.shard_error import ShardError
from trainers.data.shards.shard_index import INDEX, ShardSet, check_hashes, read_index

COUNTS = {"train/cat": 12, "train/dog": 11, "val/cat": 2, "val/dog": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tree(tmp_path_factory.mktemp("images"), COUNTS)
    write_noise(root / "train" / "cat" / "007.jpg", (90, 70))
    write_noise(root / "train" / "dog" / "001.jpg", (64, 100))
    return root


@pytest.fixture(scope="module")
def written(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(folder, tmp_path_factory.mktemp("shards") / "out")


@pytest.fixture
def shards(written: Path, tmp_path: Path) -> Path:
    """Return a copy that the test may damage."""
    return shutil.copytree(written, tmp_path / "shards")


def write_noise(path: Path, side: tuple[int, int]) -> None:
    noise_HWC = np.random.default_rng(0).integers(0, 256, (side[1] // 8, side[0] // 8, 3), dtype=np.uint8)
    Image.fromarray(noise_HWC).resize(side, Image.Resampling.BICUBIC).save(path, quality=95)


def images(files: Files, root: Path, size: int = 16) -> Images:
    gray = (0.5, 0.5, 0.5)
    return Images(files, size, gray, gray, BadImages(root / "bad", 0), new_bad_marks(len(files.labels)), seed=3)


def test_shards_have_the_bytes_the_classes_and_the_numbers_of_their_folder(folder: Path, written: Path) -> None:
    train, heldout, _ = list_images(folder)
    found = read_index(written)
    assert contents(found.train) == contents(train)
    assert contents(found.heldout) == contents(heldout)
    assert found.classes == 2
    assert [found.train.size(number) for number in range(23)] == [train.size(number) for number in range(23)]
    assert [path.name for path in sorted((written / "train").iterdir())] == [f"{n:05}.tar" for n in range(5)]


def test_a_tar_file_has_mixed_classes_and_is_what_other_tools_read(written: Path) -> None:
    """WebDataset joins files of one base name; a plain tar reader sees an image and a class after each other."""
    labels = []
    for path in sorted((written / "train").iterdir()):
        with tarfile.open(path) as tar:
            names = tar.getnames()
            assert [name.split(".")[0] for name in names[::2]] == [name.split(".")[0] for name in names[1::2]]
            assert all(name.endswith((".jpg", ".png")) for name in names[::2])
            members = [tar.extractfile(name) for name in names[1::2]]
            labels.append([int(member.read()) for member in members if member])
    assert sum(len(set(tar)) == 2 for tar in labels) >= 4


def test_batches_from_shards_are_those_from_the_folder(folder: Path, written: Path, tmp_path: Path) -> None:
    batches = [
        images(files, tmp_path).batch(torch.tensor([7, 13, 0])) for files in (list_images(folder)[0], trained(written))
    ]
    assert torch.equal(batches[0][0], batches[1][0])
    assert torch.equal(batches[0][1], batches[1][1])


def trained(root: Path) -> Files:
    return read_index(root).train


@pytest.mark.parametrize(
    ("conversion", "sides", "ending"),
    [
        (Conversion(longest=45), (45, 35), "jpg"),
        (Conversion(shortest=35), (45, 35), "jpg"),
        (Conversion(shortest=35, pixels=1.0), (45, 35), "ppm"),
        (Conversion(shortest=80), (90, 70), "jpg"),
    ],
)
def test_larger_images_shrink_to_the_limit(
    folder: Path, conversion: Conversion, sides: tuple[int, int], ending: str
) -> None:
    content = (folder / "train" / "cat" / "007.jpg").read_bytes()
    stored, found = conversion(content, "jpg", as_pixels=conversion.pixels == 1)
    with Image.open(BytesIO(stored)) as image:
        assert (image.size, found) == (sides, ending)
    assert (stored == content) == (sides == (90, 70)), "an image within the limits stays as it is"


def test_pixels_give_the_batch_of_their_jpegs(folder: Path, written: Path, tmp_path: Path) -> None:
    as_pixels = trained(write(folder, tmp_path / "pixels", Conversion(pixels=1.0)))
    assert all(content.startswith(b"P6\n") for content, _ in contents(as_pixels))
    batches = [images(files, tmp_path, 48).batch(torch.tensor([7, 13]))[0] for files in (as_pixels, trained(written))]
    assert torch.equal(*batches), "a box of less than 96 pixels is not decoded at a half"


@needs_jpegtran
def test_restart_markers_change_no_batch(folder: Path, written: Path, tmp_path: Path) -> None:
    marked = trained(write(folder, tmp_path / "marked", Conversion(has_restarts=True)))
    assert marked.read(7) != trained(written).read(7)
    batches = [images(files, tmp_path, 24).batch(torch.arange(23))[0] for files in (marked, trained(written))]
    assert torch.equal(*batches)


def test_a_share_of_every_tar_file_is_pixels(folder: Path, tmp_path: Path) -> None:
    half = write(folder, tmp_path / "half", Conversion(pixels=0.4))
    for path in sorted((half / "train").glob("*.tar")):
        with tarfile.open(path) as tar:
            names = tar.getnames()
        assert sum(name.endswith(".ppm") for name in names) == 2, names


def test_pixels_that_are_not_whole_are_a_bad_image() -> None:
    with pytest.raises(ValueError, match="smaller than requested"):
        decode_pixels(b"P6\n4 4\n255\n" + bytes(40))


def test_an_image_that_cannot_be_decoded_is_stored_unchanged(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    (damaged / "val" / "cat" / "000.png").write_bytes(b"no image")
    found = read_index(write(damaged, tmp_path / "out", Conversion(longest=20)))
    assert found.heldout.read(0) == b"no image"
    assert "val/cat/000.png cannot be decoded" in capfd.readouterr().err


def test_a_file_that_the_cache_drops_is_open_until_it_is_read(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache keeps nothing, as when two threads open a file at once or other files take its place."""
    monkeypatch.setattr(sharded_images, "_open", sharded_images._OpenFile)
    train = read_index(written).train
    before = len(os.listdir("/proc/self/fd"))
    assert [len(train.read(number)) for number in range(23)] == [train.size(number) for number in range(23)]
    assert len(os.listdir("/proc/self/fd")) == before, "the files are closed again"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-600])


def swap_format(path: Path) -> None:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    with path.open("wb") as changed:
        np.savez(changed, **{**arrays, "format": np.array(2)})


def drop_labels(path: Path) -> None:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "val_label"}
    with path.open("wb") as changed:
        np.savez(changed, **arrays)


def ignore_a_label(path: Path) -> None:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["train_label"][7] = -100
    with path.open("wb") as changed:
        np.savez(changed, **arrays)


@pytest.mark.parametrize(
    ("damage", "name", "message"),
    [
        (Path.unlink, INDEX, r"index.npz is missing: the shards are incomplete"),
        (cut, INDEX, r"index.npz cannot be read \(.*write the shards or their index again"),
        (swap_format, INDEX, r"has format 2, and this version reads format 1"),
        (drop_labels, INDEX, r"has no array 'val_label'"),
        (ignore_a_label, INDEX, r"index.npz has labels other than 0 to 1: write the index again"),
        (Path.unlink, "train/00003.tar", r"train/00003.tar cannot be read \(No such file or directory\)"),
        (cut, "val/00000.tar", r"val/00000.tar has \d+ bytes, and .* says \d+: it is not whole"),
    ],
)
def test_what_is_not_whole_is_found_before_the_first_image(
    shards: Path, damage: Callable[[Path], object], name: str, message: str
) -> None:
    damage(shards / name)
    with pytest.raises(ShardError, match=message):
        read_index(shards)


def test_a_tar_file_that_shrinks_during_a_run_ends_it_and_is_no_bad_image(shards: Path, tmp_path: Path) -> None:
    split = images(trained(shards), tmp_path)
    for path in (shards / "train").iterdir():
        path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(ShardError, match=r"has become shorter since this run began: .*tar:000000\d\d is not whole"):
        split.batch(torch.arange(23))
    assert not (tmp_path / "bad").exists()


def test_the_check_finds_changed_bytes(shards: Path) -> None:
    assert check_hashes(shards) == 6
    path = shards / "train" / "00001.tar"
    content = bytearray(path.read_bytes())
    content[600] ^= 1
    path.write_bytes(content)
    assert isinstance(read_index(shards), ShardSet), "the size is the same"
    with pytest.raises(ShardError, match=r"00001.tar has other bytes than when its index was written"):
        check_hashes(shards)


def test_complete_shards_are_not_overwritten_and_incomplete_ones_are_begun_anew(folder: Path, shards: Path) -> None:
    with pytest.raises(ShardError, match="has complete shards already"):
        write(folder, shards)
    (shards / INDEX).unlink()
    (shards / "train" / "00009.tar").write_bytes(b"of a conversion with more files")
    write(folder, shards)
    assert not (shards / "train" / "00009.tar").exists()
    assert len(read_index(shards).train) == 23
    (shards / INDEX).unlink()
    (shards / "train" / "set-0.tar").touch()
    with pytest.raises(ShardError, match=r"set-0.tar is not of this command"):
        write(folder, shards)


@pytest.mark.ring("all")
def test_the_command_writes_shards_and_prints_the_data_section_of_a_spec(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trainers.data.shards"]
    out = tmp_path / "out"
    options = ["--pixels", "0.5", "--longest", "40", "--per-tar", "20", "--processes", "1"]
    done = run([*command, "write", str(folder), str(out), *options])
    found = Shards.model_validate(yaml.safe_load(done.stdout)["data"])
    assert (found.path, found.classes, found.train_samples, found.heldout_samples) == (str(out), 2, 23, 5)
    assert "train/00001.tar: 3 images" in done.stderr
    assert run([*command, "check", str(out)]).stdout == done.stdout
    cut(out / "train" / "00001.tar")
    failed = run([*command, "check", str(out)])
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "it is not whole" in failed.stderr
    without_tools = {**os.environ, "PATH": str(tmp_path)}
    lacking = run([*command, "write", str(folder), str(tmp_path / "new"), "--restart-markers"], without_tools)
    assert "there is no jpegtran: install libjpeg-turbo-progs" in lacking.stderr
    assert not (tmp_path / "new").exists()
    assert "9 is not from 0 to 1" in run([*command, "write", str(folder), str(out), "--pixels", "9"]).stderr


def run(command: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, env=environment)
