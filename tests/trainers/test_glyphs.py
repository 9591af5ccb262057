"""Glyphs: the same bits on all machines, balanced classes, no duplicate images, and learnable classes."""

import hashlib
from pathlib import Path

import pytest
import torch

from contract.spec.choices.data import Glyphs
from trainers.data.sources import glyphs as module
from trainers.data.sources.glyphs import BLOCK, CHARACTERS, DRAWING, FONTS, SIDE, glyphs
from trainers.data.split import GraySplit

SMALL, HELD = 2 * BLOCK + 100, 300


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def splits(cache: Path) -> tuple[GraySplit, GraySplit]:
    return glyphs(10, train_samples=SMALL, heldout_samples=HELD, cache=cache)


def test_the_glyphs_match_the_contract(splits: tuple[GraySplit, GraySplit]) -> None:
    train, heldout = splits
    assert (len(train), len(heldout)) == (SMALL, HELD)
    x_BCHW, y_B = train.batch(torch.arange(SMALL))
    assert x_BCHW.shape[1:] == Glyphs().shape
    assert torch.bincount(y_B).tolist() == [SMALL // 10] * 10
    assert x_BCHW.mean().item() == pytest.approx(0, abs=1e-5)
    assert x_BCHW.std().item() == pytest.approx(1, abs=1e-3)
    assert Glyphs.model_fields["classes"].metadata[1].le == len(CHARACTERS) == len(set(CHARACTERS))


def test_a_smaller_set_is_the_beginning_of_a_larger_one(splits: tuple[GraySplit, GraySplit], cache: Path) -> None:
    small, _ = glyphs(10, train_samples=BLOCK + 7, heldout_samples=1, cache=cache)
    assert torch.equal(small.x_N1HW, splits[0].x_N1HW[: BLOCK + 7])


def test_no_image_occurs_twice_nor_in_both_splits(splits: tuple[GraySplit, GraySplit]) -> None:
    images_NC = torch.cat([split.x_N1HW.flatten(1) for split in splits])
    assert len(torch.unique(images_NC, dim=0)) == SMALL + HELD


def test_the_second_call_reads_the_cache_and_renders_nothing(
    splits: tuple[GraySplit, GraySplit], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(module, "_render_both")
    again, _ = glyphs(10, train_samples=SMALL, heldout_samples=HELD, cache=cache)
    assert torch.equal(again.x_N1HW, splits[0].x_N1HW)


def test_the_bits_are_the_same_on_every_machine() -> None:
    """The digest is from an x86 machine; the drawings are made of integers and not by FreeType."""
    drawing_KFHW = (torch.arange(2 * 3 * DRAWING * DRAWING) * 7919 % 256).view(2, 3, DRAWING, DRAWING).float() / 255
    images = module._render(drawing_KFHW, split=module.TRAIN, first=BLOCK, length=BLOCK)
    assert hashlib.sha256(images.tobytes()).hexdigest()[:16] == "e9ea566e3bb55fb1"


def test_threads_and_batches_do_not_change_the_bits() -> None:
    drawing_KFHW = torch.rand(5, 2, DRAWING, DRAWING, generator=torch.Generator().manual_seed(0))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = module._render(drawing_KFHW, split=module.TRAIN, first=0, length=BLOCK)
        torch.set_num_threads(3)
        assert (module._render(drawing_KFHW, split=module.TRAIN, first=0, length=BLOCK) == alone).all()
        assert (module._render(drawing_KFHW, split=module.TRAIN, first=0, length=9) == alone[:9]).all()
    finally:
        torch.set_num_threads(threads)


def test_every_font_draws_every_character_within_its_drawing() -> None:
    drawing_KFHW = module._draw(CHARACTERS)
    assert drawing_KFHW.shape == (len(CHARACTERS), len(FONTS), DRAWING, DRAWING)
    assert (drawing_KFHW.flatten(2).sum(dim=2) > SIDE).all()
    border = torch.cat([drawing_KFHW[..., 0, :], drawing_KFHW[..., -1, :], drawing_KFHW[..., 0], drawing_KFHW[..., -1]])
    assert not border.any()
    flat_KFP = drawing_KFHW.flatten(2)
    for font, name in enumerate(FONTS):  # a font draws the same box for all characters that it lacks
        assert len(torch.unique(flat_KFP[:, font], dim=0)) == len(CHARACTERS), name


def test_more_classes_than_characters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are 62 characters, fewer than 63 classes"):
        glyphs(63, train_samples=1, heldout_samples=1, cache=tmp_path)


def test_a_linear_classifier_generalizes_to_the_held_out_images(splits: tuple[GraySplit, GraySplit]) -> None:
    """Ridge regression on the pixels, in closed form; random guessing has an accuracy of 0.1."""
    (x_NP, y_N), (x_HP, y_H) = (
        (x.flatten(1), y) for x, y in (split.batch(torch.arange(len(split))) for split in splits)
    )
    target_NK = torch.nn.functional.one_hot(y_N, 10).float()
    weight_PK = torch.linalg.solve(x_NP.T @ x_NP + 1000 * torch.eye(SIDE * SIDE), x_NP.T @ target_NK)
    assert ((x_HP @ weight_PK).argmax(dim=1) == y_H).float().mean() > 0.4
