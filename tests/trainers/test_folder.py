"""Image folders: listing, decoding of images, and bad images."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

from contract.spec.choices.augmentations import ImageAugmentation
from contract.spec.choices.data import Folder
from tests.testing.trainers.jobs import HOUSE
from tests.testing.trainers.pictures import draw, tree
from trainers.build.data import build_data
from trainers.data.images.bad_images import BadImages, TooManyBadImages
from trainers.data.images.crop import RATIO, UNITS, center_square, fixed_square, random_box
from trainers.data.images.image_draws import draw_units
from trainers.data.images.image_folder import check_counts, list_images
from trainers.data.images.image_split import Images, new_bad_marks

MEAN = DEVIATION = (0.5, 0.5, 0.5)


def images(root: Path, *, seed: int | None = 3, max_bad: int = 0) -> Images:
    train, _, _ = list_images(root)
    return Images(train, 16, MEAN, DEVIATION, BadImages(root / "bad-images", max_bad), new_bad_marks(len(train)), seed)


def inputs(split: Images, index_B: torch.Tensor) -> torch.Tensor:
    """Return the net's inputs, as a rank has them on its device."""
    return split.normalize(split.batch(index_B)[0])


def units(number: int) -> list[float]:
    """Return the random numbers of an image."""
    drawn: list[float] = draw_units(0, 0, np.array([number]), UNITS)[0].tolist()
    return drawn


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tree(tmp_path, {"train/cat": 5, "train/dog": 4, "val/cat": 2, "val/dog": 3})


def test_classes_and_images_are_numbered_by_name(root: Path) -> None:
    train, heldout, classes = list_images(root)
    assert classes == ["cat", "dog"]
    assert train.labels.tolist() == [0] * 5 + [1] * 4
    assert heldout.labels.tolist() == [0, 0, 1, 1, 1]
    assert train.path(5) == root / "train" / "dog" / "000.png"
    assert train.read(5) == train.path(5).read_bytes()


def test_without_val_some_images_are_held_out_and_none_is_lost(tmp_path: Path) -> None:
    root = tree(tmp_path, {"a": 12, "b": 9})
    train, heldout, _ = list_images(root, heldout_samples=6)
    assert (len(train), len(heldout)) == (15, 6)
    paths = [split.path(number) for split in (train, heldout) for number in range(len(split))]
    assert sorted(paths) == sorted(root.rglob("*.*"))
    assert heldout.path(0) == list_images(root, heldout_samples=6)[1].path(0)
    assert all(split.path(n).parent.name == "ab"[split.labels[n]] for split in (train, heldout) for n in range(6))


def test_an_empty_class_folder_is_named(root: Path) -> None:
    (root / "train" / "emu").mkdir()
    (root / "val" / "emu").mkdir()
    (root / "train" / "emu" / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"train has no image \(.jpg, .jpeg, .png\) in the class folders emu"):
        list_images(root)


def test_classes_that_differ_between_train_and_val_are_named(root: Path) -> None:
    draw(root / "val" / "emu", count=1)
    with pytest.raises(ValueError, match="differ in their classes: emu is in only one of them"):
        list_images(root)


@pytest.mark.parametrize(
    ("created", "message"), [("", "there is no folder"), ("x/only", "1 class folders; at least 2")]
)
def test_a_folder_that_is_no_data_set_is_refused(tmp_path: Path, created: str, message: str) -> None:
    if created:
        (tmp_path / created).mkdir(parents=True)
    with pytest.raises(ValueError, match=message):
        list_images(tmp_path / "x")


def test_all_counts_that_differ_from_the_spec_are_named(root: Path) -> None:
    check_counts(root, (2, 9, 5), (2, 9, 5))
    with pytest.raises(
        ValueError, match=r"classes is 3, but the data set has 2; data.heldout_samples is 50, but the data set has 5"
    ):
        check_counts(root, (2, 9, 5), (3, 9, 50))


@pytest.mark.ring("all")
def test_the_command_prints_the_data_section_of_a_spec(root: Path) -> None:
    command = [sys.executable, "-m", "trainers.data", str(root)]
    done = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=True)
    found = Folder.model_validate(yaml.safe_load(done.stdout)["data"])
    assert (found.classes, found.train_samples, found.heldout_samples) == (2, 9, 5)
    failed = subprocess.run([*command[:-1], str(root / "none")], cwd=HOUSE, capture_output=True, text=True)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert f"there is no folder {root / 'none'}" in failed.stderr


def test_a_sample_depends_on_seed_epoch_and_number_alone(root: Path) -> None:
    noise = torch.randint(0, 256, (40, 48, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for path in (root / "train").rglob("*.*"):
        Image.fromarray(noise.numpy()).save(path)
    split = images(root).stage(1, samples_of=lambda ranks: torch.arange(9).view(1, 9))
    x_BCHW, y_B = split.batch(torch.tensor([4, 7, 2]))
    assert x_BCHW.shape == (3, 3, 16, 16)
    assert y_B.tolist() == [0, 1, 0]
    assert torch.equal(split.batch(torch.tensor([2]))[0], x_BCHW[2:])
    assert not torch.equal(
        split.stage(2, samples_of=lambda ranks: torch.arange(9).view(1, 9)).batch(torch.tensor([2]))[0], x_BCHW[2:]
    )
    assert not torch.equal(x_BCHW[0], x_BCHW[2])
    still = images(root, seed=None)
    moved = still.stage(5, samples_of=lambda ranks: torch.arange(9).view(1, 9))
    assert torch.equal(still.batch(torch.tensor([2]))[0], moved.batch(torch.tensor([2]))[0])


def test_half_of_the_random_crops_are_mirrored_and_no_central_square_is(tmp_path: Path) -> None:
    """The images are dark on the left and light on the right."""
    image = Image.new("RGB", (64, 64))
    image.paste((255, 255, 255), (32, 0, 64, 64))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(100):
            image.save(tmp_path / name / f"{number}.png")
    x_BCHW = inputs(images(tmp_path), torch.arange(180))
    mirrored = (x_BCHW[..., :4].mean(dim=(1, 2, 3)) > x_BCHW[..., -4:].mean(dim=(1, 2, 3))).sum()
    assert 55 < mirrored < 105
    x_BCHW = inputs(images(tmp_path, seed=None), torch.arange(180))
    assert (x_BCHW[..., 0] == -1).all()
    assert (x_BCHW[..., -1] == 1).all()


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK"])
def test_images_of_other_colors_become_rgb(tmp_path: Path, mode: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(6):
            suffix = "jpg" if mode == "CMYK" else "png"
            Image.new("RGB", (20, 30), (255, 255, 255)).convert(mode).save(tmp_path / name / f"{number}.{suffix}")
    x_BCHW = inputs(images(tmp_path), torch.arange(3))
    assert x_BCHW.shape == (3, 3, 16, 16)
    assert (x_BCHW > 0.95).all()


def test_a_large_jpeg_decoded_at_a_quarter_of_its_size_looks_the_same(tmp_path: Path) -> None:
    """A gradient reveals a box that is not scaled with the image."""
    column = Image.linear_gradient("L").resize((1024, 1024))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(6):
            column.save(tmp_path / name / f"{number}.jpg", quality=95)
    x_BCHW = inputs(images(tmp_path, seed=None), torch.tensor([0]))
    shown_H = x_BCHW[0, 0, :, 8]
    expected_H = (torch.arange(16) + 0.5) / 16 * 1.75 - 0.875
    assert torch.allclose(shown_H, expected_H, atol=0.03)


def test_an_image_that_cannot_be_decoded_is_named_and_replaced(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One file is not an image, one is truncated."""
    truncated = root / "train" / "cat" / "001.jpg"
    (root / "train" / "cat" / "000.png").write_bytes(b"no image")
    truncated.write_bytes(truncated.read_bytes()[:-200])
    split = images(root, max_bad=2)
    x_BCHW, _ = split.batch(torch.tensor([0, 1, 2]))
    assert torch.equal(x_BCHW[0], x_BCHW[2])
    assert torch.equal(x_BCHW[1], x_BCHW[2])
    split.batch(torch.tensor([0, 1, 2]))
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2
    assert f"{truncated} cannot be decoded" in lines[1]
    assert "another image replaces it, 2 of at most 2" in lines[1]


def test_more_bad_images_than_allowed_are_an_error(root: Path) -> None:
    for name in ("000.png", "001.jpg"):
        (root / "train" / "cat" / name).write_bytes(b"no image")
    with pytest.raises(TooManyBadImages, match=r"001.jpg cannot be decoded .*: 2, data.max_bad_images: 1"):
        images(root, max_bad=1).batch(torch.tensor([0, 1]))


def test_random_boxes_lie_within_the_image_and_its_ratios() -> None:
    areas = []
    for number in range(2000):
        left, upper, right, lower = random_box(60, 40, units(number))
        assert 0 <= left < right <= 60
        assert 0 <= upper < lower <= 40
        assert RATIO[0] * 0.85 < (right - left) / (lower - upper) < RATIO[1] * 1.15  # sides are whole pixels
        areas.append((right - left) * (lower - upper) / 2400)
    assert min(areas) < 0.1
    assert max(areas) > 0.8
    assert random_box(400, 4, units(0)) == pytest.approx((200 - 8 / 3, 0, 200 + 8 / 3, 4))
    assert center_square(400, 200) == (112.5, 12.5, 287.5, 187.5)


def with_augmentation(root: Path, kind: str | None) -> torch.Tensor:
    """Return the training images of epoch 3 with a choice of augmentation; None: without the field."""
    folder = {"path": str(root), "classes": 2, "train_samples": 9, "heldout_samples": 5, "size": 16}
    choice = Folder.model_validate({"kind": "folder", **folder})
    augmentation = ImageAugmentation.model_validate({"kind": kind}) if kind else None
    train, _ = build_data(choice, 7, augmentation=augmentation, bad_images=root / "bad-images")
    assert isinstance(train, Images)
    return train.stage(3, lambda ranks: torch.arange(9).view(1, 9)).batch(torch.arange(9))[0]


def test_crops_and_mirror_images_are_a_choice_and_both_are_the_default(root: Path) -> None:
    shade_HW = np.random.default_rng(0).integers(0, 256, (40, 48), dtype=np.uint8)
    for path in root.rglob("*.*g"):  # an image of one color is the same in a mirror
        Image.fromarray(shade_HW).save(path)
    both, default = with_augmentation(root, "crop_mirror"), with_augmentation(root, None)
    plain, mirror, crop = (with_augmentation(root, kind) for kind in ("none", "mirror", "crop"))
    assert torch.equal(both, default)
    is_plain_N = [torch.equal(one, other) for one, other in zip(plain, mirror, strict=True)]
    is_turned_N = [torch.equal(one, other.flip(2)) for one, other in zip(plain, mirror, strict=True)]
    assert all(one or other for one, other in zip(is_plain_N, is_turned_N, strict=True))
    assert any(is_plain_N)
    assert any(is_turned_N)
    assert not any(torch.equal(one, other) for one, other in zip(plain, crop, strict=True))
    turned = [torch.equal(one, other) or torch.equal(one, other.flip(2)) for one, other in zip(crop, both, strict=True)]
    assert all(turned)


def test_the_fixed_crop_is_a_random_square_within_the_central_one() -> None:
    boxes = [fixed_square(64, 48, units(number)) for number in range(200)]
    for left, upper, right, lower in boxes:
        assert 8 <= left <= right <= 56
        assert 0 <= upper <= lower <= 48
        assert (right - left, lower - upper) == pytest.approx((42, 42))
    assert len({box[:2] for box in boxes}) == 200
    assert {round(box[0]) for box in boxes} == set(range(8, 15))


def test_the_fixed_crop_is_a_choice_with_and_without_mirror_images(root: Path) -> None:
    shade_HW = np.random.default_rng(0).integers(0, 256, (40, 48), dtype=np.uint8)
    for path in root.rglob("*.*g"):
        Image.fromarray(shade_HW).save(path)
    crop, both = (with_augmentation(root, kind) for kind in ("fixed_crop", "fixed_crop_mirror"))
    turned = [torch.equal(one, other.flip(2)) for one, other in zip(crop, both, strict=True)]
    assert all(torch.equal(one, other) or t for one, other, t in zip(crop, both, turned, strict=True))
    assert any(turned)
    for others in (with_augmentation(root, "none"), with_augmentation(root, "crop")):
        assert not any(torch.equal(one, other) for one, other in zip(crop, others, strict=True))


def test_without_augmentation_a_training_image_is_as_in_an_evaluation(root: Path) -> None:
    evaluated = images(root, seed=None)
    choice = {"path": str(root), "classes": 2, "train_samples": 9, "heldout_samples": 5, "size": 16}
    folder = Folder.model_validate({"kind": "folder", **choice, "mean": list(MEAN), "deviation": list(DEVIATION)})
    none = ImageAugmentation(kind="none")
    train, _ = build_data(folder, 7, augmentation=none, bad_images=root / "bad-images")
    assert torch.equal(train.batch(torch.arange(9))[0], evaluated.batch(torch.arange(9))[0])  # type: ignore[arg-type]


def test_random_numbers_are_uniform_and_independent_of_the_batch() -> None:
    """10,000 images draw 23 numbers each: chi-square over 16 classes, and the correlation of neighbors."""
    unit_BU = draw_units(7, 3, np.arange(10_000), UNITS)
    assert unit_BU.min() >= 0
    assert unit_BU.max() < 1
    counts_U16 = np.stack([np.histogram(unit_B, 16, (0, 1))[0] for unit_B in unit_BU.T])
    chi_square_U = ((counts_U16 - 625) ** 2 / 625).sum(1)
    assert chi_square_U.max() < 45, "15 degrees of freedom: beyond 45 with probability 1e-4"
    for first, second in ((unit_BU[:-1], unit_BU[1:]), (unit_BU[:, :-1], unit_BU[:, 1:])):
        assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.01
    assert (draw_units(7, 3, np.array([9_999, 5]), UNITS) == unit_BU[[9_999, 5]]).all()
    assert not np.isin(draw_units(7, 4, np.arange(100), UNITS), unit_BU).any()
    assert not np.isin(draw_units(8, 3, np.arange(100), UNITS), unit_BU).any()
