"""The digest of a tensor: equal for equal elements, however they lie in memory, and else different."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from trainers.replicas import digest as digests
from trainers.replicas.digest import digest

TYPES = [
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
]
LONG = 2 * digests.MULTIPLIERS + 7  # two rows, and a rest


def of(x: Tensor) -> int:
    return int(digest(x))


def numbers(length: int, dtype: torch.dtype) -> Tensor:
    x_N = torch.randn(length, generator=torch.Generator().manual_seed(length)) * 50
    return (x_N > 0) if dtype is torch.bool else x_N.to(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("length", [1, 5, LONG])
def test_the_change_of_any_element_changes_the_digest(length: int, dtype: torch.dtype) -> None:
    x_N = numbers(length, dtype)
    for place in {0, length // 2, length - 1}:
        changed_N = x_N.clone()
        changed_N[place] = ~changed_N[place] if dtype is torch.bool else changed_N[place] + 1
        assert of(changed_N) != of(x_N), place
    assert of(x_N.clone()) == of(x_N)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_exchanged_elements_signs_zeros_and_the_bits_of_a_nan_change_the_digest(dtype: torch.dtype) -> None:
    x_N = numbers(LONG, dtype)
    variants = [x_N]
    for first, second in [(0, 1), (3, digests.MULTIPLIERS + 3), (5, LONG - 1)]:
        exchanged_N = x_N.clone()
        exchanged_N[[first, second]] = x_N[[second, first]]
        two_signs_N = x_N.clone()
        two_signs_N[[first, second]] *= -1
        variants += [exchanged_N, two_signs_N]
    zeros_N, nan_N = torch.zeros(9, dtype=dtype), torch.full((9,), torch.nan, dtype=dtype)
    minus_N, other_nan_N = zeros_N.clone(), nan_N.clone()
    minus_N[4] = -0.0
    other_nan_N.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize])[4] += 1
    assert other_nan_N.isnan().all()
    variants += [zeros_N, minus_N, nan_N, other_nan_N]
    assert len({of(x) for x in variants}) == len(variants)


def test_strides_do_not_matter() -> None:
    x_OIHW = numbers(64 * 32 * 3 * 3, torch.float32).view(64, 32, 3, 3)
    last = x_OIHW.to(memory_format=torch.channels_last)
    gaps = torch.zeros(64, 32, 3, 6)[..., ::2].copy_(x_OIHW)
    assert of(x_OIHW) == of(last) == of(gaps) == of(gaps.transpose(0, 1).contiguous().transpose(0, 1))
    assert of(torch.ones(1).expand(4)) == of(torch.ones(4))
    assert of(torch.ones(4, dtype=torch.complex64).conj()) == of(
        torch.ones(4, dtype=torch.complex64).conj().resolve_conj()
    )
    assert of(torch.eye(3).to_sparse()) == of(torch.eye(3))


def test_a_tensor_without_elements_or_without_dimensions_has_a_digest() -> None:
    assert of(torch.empty(0)) == of(torch.empty(3, 0, dtype=torch.float64)) == 0
    assert of(torch.tensor(2.0)) != of(torch.tensor(3.0))
    assert of(torch.tensor(2.0)) == of(torch.tensor([2.0]))


@given(st.integers(1, 40), st.data())
def test_small_changes_of_several_elements_in_the_last_bit_change_the_digest(length: int, data: st.DataObject) -> None:
    bits_N = torch.arange(length, dtype=torch.int32) + 0x3F800000
    signs = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=length, max_size=length).filter(any))
    assert of((bits_N + torch.tensor(signs, dtype=torch.int32)).view(torch.float32)) != of(bits_N.view(torch.float32))


def test_the_digests_of_all_short_bit_patterns_differ() -> None:
    found = [of(torch.tensor(bits, dtype=torch.bool)) for bits in itertools.product([False, True], repeat=12)]
    assert len(set(found)) == len(found)


def test_the_digest_is_the_same_in_every_version() -> None:
    """Checkpoints contain digests of their data."""
    assert of(torch.arange(LONG)) == -831429872458314062
