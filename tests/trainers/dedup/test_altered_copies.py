"""Injected duplicates are found at the default, on glyphs and on larger pictures, and mirrored images are none."""

import numpy as np
import pytest

from tests.testing.trainers.pictures import pictures
from trainers.data.dedup.altered_copies import DUPLICATES, alter, inject, pair_scores
from trainers.data.dedup.duplicates import HashSettings, find_duplicates
from trainers.data.dedup.hashes import hash_pixels
from trainers.data.dedup.repeated_glyphs import make_glyphs, repeated_glyphs, search

DEFAULT = HashSettings()


@pytest.mark.ring("all")
def test_copies_of_glyphs_are_found_at_the_default() -> None:
    train = make_glyphs(DUPLICATES, 0).train
    precision, recall = pair_scores(search(train, DEFAULT).leader_of_N, train.original_N)
    assert precision > 0.95
    assert recall > 0.95


@pytest.mark.ring("all")
def test_copies_of_pictures_are_found_at_the_default() -> None:
    made = inject(pictures(1000, 96, seed=1), DUPLICATES, seed=2)
    hash_NW = hash_pixels(made.x_N.transpose(0, 3, 1, 2), DEFAULT.kind, DEFAULT.bits)
    found = find_duplicates(hash_NW, DEFAULT)
    precision, recall = pair_scores(found.leader_of_N, made.original_N)
    assert precision > 0.95
    assert recall > 0.95
    assert found.ratio == pytest.approx(DUPLICATES, abs=0.02)


@pytest.mark.ring("all")
def test_a_mirrored_picture_is_no_duplicate() -> None:
    x_NHWC = pictures(100, 96, seed=3)
    both = np.concatenate([x_NHWC, x_NHWC[:, :, ::-1]]).transpose(0, 3, 1, 2)
    assert find_duplicates(hash_pixels(both, DEFAULT.kind, DEFAULT.bits), DEFAULT).ratio == 0


def test_injected_copies_have_their_share_and_differ_from_their_originals() -> None:
    x_NHW = pictures(50, 32, seed=4)[..., 0]
    made = inject(x_NHW, 0.3, seed=5)
    is_copy_N = made.original_N != np.arange(50)
    assert is_copy_N.sum() == 15
    assert not is_copy_N[made.original_N].any()
    assert (made.x_N[~is_copy_N] == x_NHW[~is_copy_N]).all()
    assert all((made.x_N[n] != x_NHW[made.original_N[n]]).any() for n in np.flatnonzero(is_copy_N))


def test_the_scores_of_pairs_are_those_of_their_definition() -> None:
    found, true = np.array([0, 0, 0, 3, 4]), np.array([0, 0, 2, 3, 3])
    assert pair_scores(found, true) == (1 / 3, 1 / 2)
    assert pair_scores(np.arange(5), np.arange(5)) == (1.0, 1.0)


def test_the_same_copies_are_made_from_the_same_seed() -> None:
    x_HW = pictures(1, 28, seed=6)[0, :, :, 0]
    first, second = (alter(x_HW, np.random.default_rng(7)) for _ in range(2))
    assert (first == second).all()


@pytest.mark.ring("all")
def test_the_glyphs_without_copies_train_as_many_images_as_were_left_out_at_random() -> None:
    all_train, heldout = repeated_glyphs()
    reduced, _ = repeated_glyphs(DEFAULT.threshold)
    at_random, _ = repeated_glyphs(DEFAULT.threshold, choice="random")
    assert len(reduced) == len(at_random) < len(all_train) == 4096
    assert len(heldout) == 2000
    x_1HW, y = reduced[0]
    assert x_1HW.shape == (1, 28, 28)
    assert y == 0
