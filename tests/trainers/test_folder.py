"""Image folders: what is in them, what becomes of an image, and what is wrong with some."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from PIL import Image

from contract.spec.choices.data import Folder
from tests.testing.trainers.jobs import HOUSE
from tests.testing.trainers.pictures import draw, tree
from trainers.data.images.bad_images import BadImages, TooManyBadImages
from trainers.data.images.crop import RATIO, draws, middle_box, random_box
from trainers.data.images.image_folder import agree, listings
from trainers.data.images.image_split import Images, bad_marks

MEAN = DEVIATION = (0.5, 0.5, 0.5)


def images(root: Path, *, seed: int | None = 3, max_bad: int = 0) -> Images:
    train, _, _ = listings(root)
    return Images(train, 16, MEAN, DEVIATION, BadImages(root / "bad-images", max_bad), bad_marks(len(train)), seed)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tree(tmp_path, {"train/cat": 5, "train/dog": 4, "val/cat": 2, "val/dog": 3})


def test_classes_and_images_are_numbered_by_name(root: Path) -> None:
    train, heldout, classes = listings(root)
    assert classes == ["cat", "dog"]
    assert train.labels.tolist() == [0] * 5 + [1] * 4
    assert heldout.labels.tolist() == [0, 0, 1, 1, 1]
    assert train.path(5) == root / "train" / "dog" / "000.png"
    assert train.read(5) == train.path(5).read_bytes()


def test_without_val_images_are_held_out_and_none_is_lost(tmp_path: Path) -> None:
    root = tree(tmp_path, {"a": 12, "b": 9})
    train, heldout, _ = listings(root, heldout_samples=6)
    assert (len(train), len(heldout)) == (15, 6)
    paths = [split.path(number) for split in (train, heldout) for number in range(len(split))]
    assert sorted(paths) == sorted(root.rglob("*.*"))
    assert heldout.path(0) == listings(root, heldout_samples=6)[1].path(0)
    assert all(split.path(n).parent.name == "ab"[split.labels[n]] for split in (train, heldout) for n in range(6))


def test_an_empty_class_folder_is_named(root: Path) -> None:
    (root / "train" / "emu").mkdir()
    (root / "val" / "emu").mkdir()
    (root / "train" / "emu" / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"train has no image \(.jpg, .jpeg, .png\) in the class folders emu"):
        listings(root)


def test_classes_that_differ_between_train_and_val_are_named(root: Path) -> None:
    draw(root / "val" / "emu", count=1)
    with pytest.raises(ValueError, match="have other classes: emu is in one alone"):
        listings(root)


@pytest.mark.parametrize(("made", "complaint"), [("", "there is no folder"), ("x/only", "1 class folders; at least 2")])
def test_what_is_no_data_set_is_refused(tmp_path: Path, made: str, complaint: str) -> None:
    if made:
        (tmp_path / made).mkdir(parents=True)
    with pytest.raises(ValueError, match=complaint):
        listings(tmp_path / "x")


def test_counts_that_are_not_those_of_the_spec_are_all_named(root: Path) -> None:
    agree(root, (2, 9, 5), (2, 9, 5))
    with pytest.raises(ValueError, match=r"classes is 3, but there are 2; data.heldout_samples is 50, but there are 5"):
        agree(root, (2, 9, 5), (3, 9, 50))


def test_the_command_writes_what_a_spec_says_of_a_folder(root: Path) -> None:
    command = [sys.executable, "-m", "trainers.data", str(root)]
    done = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=True)
    said = yaml.safe_load(done.stdout)["data"]
    found = Folder.model_validate(said)
    assert (found.classes, found.train_samples, found.heldout_samples) == (2, 9, 5)
    failed = subprocess.run([*command[:-1], str(root / "none")], cwd=HOUSE, capture_output=True, text=True)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert f"there is no folder {root / 'none'}" in failed.stderr


def test_a_sample_depends_on_seed_epoch_and_number_alone(root: Path) -> None:
    noise = torch.randint(0, 256, (40, 48, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for path in (root / "train").rglob("*.*"):
        Image.fromarray(noise.numpy()).save(path)
    split = images(root).stage(1, takes=lambda rank: torch.arange(9))
    x_BCHW, y_B = split.batch(torch.tensor([4, 7, 2]))
    assert x_BCHW.shape == (3, 3, 16, 16)
    assert y_B.tolist() == [0, 1, 0]
    assert torch.equal(split.batch(torch.tensor([2]))[0], x_BCHW[2:])
    assert not torch.equal(split.stage(2, takes=lambda rank: torch.arange(9)).batch(torch.tensor([2]))[0], x_BCHW[2:])
    assert not torch.equal(x_BCHW[0], x_BCHW[2])
    still = images(root, seed=None)
    moved = still.stage(5, takes=lambda rank: torch.arange(9))
    assert torch.equal(still.batch(torch.tensor([2]))[0], moved.batch(torch.tensor([2]))[0])


def test_half_of_the_images_are_mirrored_and_the_middle_is_never(tmp_path: Path) -> None:
    """Images that are dark on the left and light on the right tell."""
    image = Image.new("RGB", (64, 64))
    image.paste((255, 255, 255), (32, 0, 64, 64))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(100):
            image.save(tmp_path / name / f"{number}.png")
    x_BCHW, _ = images(tmp_path).batch(torch.arange(180))
    mirrored = (x_BCHW[..., :4].mean(dim=(1, 2, 3)) > x_BCHW[..., -4:].mean(dim=(1, 2, 3))).sum()
    assert 55 < mirrored < 105
    x_BCHW, _ = images(tmp_path, seed=None).batch(torch.arange(180))
    assert (x_BCHW[..., 0] == -1).all()
    assert (x_BCHW[..., -1] == 1).all()


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK"])
def test_images_of_other_colors_become_rgb(tmp_path: Path, mode: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(6):
            suffix = "jpg" if mode == "CMYK" else "png"
            Image.new("RGB", (20, 30), (255, 255, 255)).convert(mode).save(tmp_path / name / f"{number}.{suffix}")
    x_BCHW, _ = images(tmp_path).batch(torch.arange(3))
    assert x_BCHW.shape == (3, 3, 16, 16)
    assert (x_BCHW > 0.95).all()


def test_a_large_jpeg_that_is_decoded_at_a_quarter_looks_the_same(tmp_path: Path) -> None:
    """A gradient, so that a box which was not scaled along would show."""
    column = Image.linear_gradient("L").resize((1024, 1024))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(6):
            column.save(tmp_path / name / f"{number}.jpg", quality=95)
    x_BCHW, _ = images(tmp_path, seed=None).batch(torch.tensor([0]))
    shown_H = x_BCHW[0, 0, :, 8]
    expected_H = (torch.arange(16) + 0.5) / 16 * 1.75 - 0.875
    assert torch.allclose(shown_H, expected_H, atol=0.03)


def test_an_image_that_cannot_be_decoded_is_named_and_replaced(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Forces a file that is no image, and one that ends too early."""
    torn = root / "train" / "cat" / "001.jpg"
    (root / "train" / "cat" / "000.png").write_bytes(b"no image")
    torn.write_bytes(torn.read_bytes()[:-200])
    split = images(root, max_bad=2)
    x_BCHW, _ = split.batch(torch.tensor([0, 1, 2]))
    assert torch.equal(x_BCHW[0], x_BCHW[2])
    assert torch.equal(x_BCHW[1], x_BCHW[2])
    split.batch(torch.tensor([0, 1, 2]))
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 2
    assert f"{torn} cannot be decoded" in said[1]
    assert "another one takes its place, 2 of at most 2" in said[1]


def test_more_bad_images_than_allowed_are_an_error(root: Path) -> None:
    for name in ("000.png", "001.jpg"):
        (root / "train" / "cat" / name).write_bytes(b"no image")
    with pytest.raises(TooManyBadImages, match=r"001.jpg cannot be decoded .*: 2, data.max_bad_images: 1"):
        images(root, max_bad=1).batch(torch.tensor([0, 1]))


def test_random_boxes_lie_within_the_image_and_its_ratios() -> None:
    areas = []
    for number in range(2000):
        left, upper, right, lower = random_box(60, 40, draws(0, 0, number))
        assert 0 <= left < right <= 60
        assert 0 <= upper < lower <= 40
        assert RATIO[0] * 0.85 < (right - left) / (lower - upper) < RATIO[1] * 1.15  # sides are whole pixels
        areas.append((right - left) * (lower - upper) / 2400)
    assert min(areas) < 0.1
    assert max(areas) > 0.8
    assert random_box(400, 4, draws(0, 0, 0)) == pytest.approx((200 - 8 / 3, 0, 200 + 8 / 3, 4))
    assert middle_box(400, 200) == (112.5, 12.5, 287.5, 187.5)
