"""The digits' fixed split, synthetic images, and a sampler independent of the world size."""

import time

import pytest
import torch
from sklearn.datasets import load_digits

from contract.spec.choices.data import Digits
from trainers.data.sampler import permutation, slices
from trainers.data.sources.digits import digits
from trainers.data.sources.synthetic import synthetic
from trainers.data.split import PixelSplit, Split, TensorSplit, to_device


def all_samples(split: Split) -> tuple[torch.Tensor, torch.Tensor]:
    return split.batch(torch.arange(len(split)))


def test_the_digits_are_those_of_the_contract() -> None:
    train, heldout = digits()
    assert (len(train), len(heldout)) == (Digits().train_samples, Digits().heldout_samples)
    x_BCHW, y_B = all_samples(train)
    assert x_BCHW.shape[1:] == Digits().shape
    assert set(y_B.tolist()) == set(range(Digits().classes))
    assert x_BCHW.mean().item() == pytest.approx(0, abs=1e-5)
    assert x_BCHW.std().item() == pytest.approx(1, abs=1e-5)


def test_the_two_splits_of_the_digits_are_disjoint_and_complete() -> None:
    """The two splits together, sorted, are scikit-learn's data set with its classes."""
    train, heldout = digits()
    images, classes = zip(all_samples(train), all_samples(heldout), strict=True)
    x_NC, y_N = torch.cat(images).flatten(1), torch.cat(classes)
    low, high = x_NC.min(), x_NC.max()
    pixels_NC = ((x_NC - low) / (high - low) * 16).round().long()
    bunch = load_digits()
    expected = sorted([*row, y] for row, y in zip(bunch.data.astype(int).tolist(), bunch.target.tolist(), strict=True))
    assert sorted([*row, y] for row, y in zip(pixels_NC.tolist(), y_N.tolist(), strict=True)) == expected


def test_the_digits_split_is_always_the_same() -> None:
    assert torch.equal(all_samples(digits()[1])[0], all_samples(digits()[1])[0])


def test_an_image_from_a_seed_depends_on_seed_and_number_alone() -> None:
    shape = (3, 9, 12)
    train, _ = synthetic(shape, 5, train_samples=50, heldout_samples=10, seed=7)
    longer, _ = synthetic(shape, 5, train_samples=70, heldout_samples=10, seed=7)
    other, _ = synthetic(shape, 5, train_samples=50, heldout_samples=10, seed=8)
    x_BCHW, y_B = train.batch(torch.tensor([4, 11, 30]))
    assert torch.equal(x_BCHW[2:], longer.batch(torch.tensor([30]))[0])
    assert not torch.equal(x_BCHW, other.batch(torch.tensor([4, 11, 30]))[0])
    assert y_B.tolist() == [4, 1, 0]
    assert x_BCHW.shape == (3, *shape)


def test_no_synthetic_image_occurs_twice_nor_in_both_splits() -> None:
    train, heldout = synthetic((1, 8, 8), 3, train_samples=3000, heldout_samples=500, seed=0)
    images_NC = torch.cat([all_samples(train)[0], all_samples(heldout)[0]]).flatten(1)
    assert len(torch.unique(images_NC, dim=0)) == 3500


def test_two_hashes_with_exchanged_halves_give_two_images() -> None:
    """Images 41781 and 174631 of ten classes would be equal without the reversal of the second window."""
    train, _ = synthetic((1, 8, 8), 10, train_samples=200_000, heldout_samples=1, seed=0)
    x_BCHW, y_B = train.batch(torch.tensor([41781, 174631]))
    assert y_B[0] == y_B[1]
    assert not torch.equal(x_BCHW[0], x_BCHW[1])


def test_seeds_with_equal_low_bits_have_different_orders() -> None:
    assert not torch.equal(permutation(100, seed=5, epoch=0), permutation(100, seed=5 + 2**31, epoch=0))
    assert not torch.equal(permutation(100, seed=2021759595, epoch=0), permutation(100, seed=0, epoch=1))


def test_synthetic_noise_is_as_strong_as_the_pattern() -> None:
    train, _ = synthetic((3, 16, 16), 10, train_samples=2000, heldout_samples=1, seed=0)
    x_BCHW, y_B = all_samples(train)
    noise_BCHW = x_BCHW[y_B == 3] - x_BCHW[y_B == 3].mean(dim=0)
    assert noise_BCHW.std().item() == pytest.approx(1, abs=0.05)


def test_a_batch_of_large_images_is_cheap() -> None:
    """A fast net takes at least 10 ms per 224 x 224 image on a core; the limit allows for a slow machine."""
    train, _ = synthetic((3, 224, 224), 1000, train_samples=1_281_167, heldout_samples=50_000, seed=0)
    train.batch(torch.arange(4))
    start = time.process_time()  # CPU time, because the machine may be busy
    train.batch(torch.arange(16) * 70_000)
    assert (time.process_time() - start) / 16 < 0.05


@pytest.mark.parametrize("world", [1, 2, 4, 8])
def test_the_images_of_a_step_do_not_depend_on_the_world(world: int) -> None:
    order_N = permutation(100, seed=3, epoch=2)
    ranks = [list(slices(order_N, 24, rank=rank, world=world)) for rank in range(world)]
    steps = [torch.cat(parts) for parts in zip(*ranks, strict=True)]
    assert torch.equal(torch.stack(steps), order_N[:96].view(4, 24))


def test_each_epoch_and_each_seed_has_its_own_order() -> None:
    orders = [permutation(50, seed=seed, epoch=epoch) for seed in (0, 1, 2**32 - 1) for epoch in range(3)]
    assert len({tuple(order.tolist()) for order in orders}) == len(orders)
    assert all(sorted(order.tolist()) == list(range(50)) for order in orders)


def test_a_batch_that_does_not_divide_is_refused_with_the_sum() -> None:
    with pytest.raises(ValueError, match="a batch of 10 does not divide over 4 ranks"):
        next(slices(torch.arange(50), 10, rank=0, world=4))


class Bytes:
    """A split whose batches are bytes, with the colors of a pixel beside each other."""

    def __len__(self) -> int:
        return 4

    def batch(self, index_B: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        pixels_BHWC = torch.arange(len(index_B) * 30, dtype=torch.uint8).view(-1, 5, 2, 3)
        return pixels_BHWC.permute(0, 3, 1, 2), index_B

    def normalize(self, pixels_BCHW: torch.Tensor) -> torch.Tensor:
        return pixels_BCHW.float() / 255


@pytest.mark.parametrize("channels_last", [False, True])
def test_bytes_become_inputs_in_the_layout_of_the_net(channels_last: bool) -> None:
    split: PixelSplit = Bytes()
    batch = split.batch(torch.arange(3))
    (x_BCHW,), y_B = to_device(batch, split, torch.device("cpu"), channels_last=channels_last)
    assert torch.equal(x_BCHW, torch.arange(90).view(3, 5, 2, 3).permute(0, 3, 1, 2) / 255)
    assert y_B.tolist() == [0, 1, 2]
    assert x_BCHW.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)


def test_numbers_are_inputs_already() -> None:
    split = TensorSplit(torch.rand(4, 3, 5, 5), torch.arange(4))
    (x_BCHW,), _ = to_device(split.batch(torch.arange(4)), split, torch.device("cpu"))
    assert torch.equal(x_BCHW, split.x_NCHW)
