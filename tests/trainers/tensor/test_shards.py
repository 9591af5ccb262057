"""Every parameter of a GPT is cut into shards that join to the same parameter, on every mesh."""

import pytest
import torch

from trainers.models.gpt import GPT
from trainers.tensor.mesh import AXES, GROUPS, Shape
from trainers.tensor.shards import cut, join

SHAPES = [Shape("one_d", 2), Shape("one_d", 3), Shape("two_d", 2), Shape("two_d", 3), Shape("three_d", 2)]


def a_gpt(width: int = 72, heads: int = 6, vocabulary: int = 36) -> GPT:
    torch.manual_seed(0)
    return GPT(vocabulary, context=5, width=width, layers=2, heads=heads, has_tied_head=False)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shards_join_to_the_parameter(shape: Shape) -> None:
    for name, p in a_gpt().named_parameters():
        value = torch.arange(p.numel(), dtype=torch.float64).view(p.shape)
        shards = [cut(name, value, shape, rank) for rank in range(shape.size)]
        assert torch.equal(join(name, shards, shape), value), name


@pytest.mark.parametrize("shape", SHAPES[2:], ids=str)
def test_every_rank_of_a_square_or_a_cube_has_its_exact_share_of_the_parameters(shape: Shape) -> None:
    net = a_gpt()
    whole = sum(p.numel() for p in net.parameters())
    for rank in range(shape.size):
        own = sum(cut(name, p.detach(), shape, rank).numel() for name, p in net.named_parameters())
        assert own * shape.size == whole


def test_a_rank_of_a_line_has_its_share_of_all_matrices_of_the_blocks() -> None:
    shape, net = Shape("one_d", 2), a_gpt()
    for name, p in net.named_parameters():
        own = cut(name, p.detach(), shape, 0).numel()
        is_whole = "norm" in name or "positions" in name or name.endswith(("proj.bias", "fc2.bias"))
        assert own == (p.numel() if is_whole else p.numel() // 2), name


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_group_has_the_ranks_that_differ_in_its_axes(shape: Shape) -> None:
    for axes in GROUPS[shape.kind]:
        for rank in range(shape.size):
            members = shape.members(axes, rank)
            assert rank in members
            others = [axis for axis in AXES[shape.kind] if axis not in axes and axes != "all"]
            at = shape.coordinates(rank)
            for number, member in enumerate(members):
                place = shape.coordinates(member)
                assert all(place[axis] == at[axis] for axis in others)
                if axes == "ji":
                    assert number == place["j"] * shape.side + place["i"]
        assert sorted(rank for group in shape.every_group(axes) for rank in group) == list(range(shape.size))


def test_a_size_that_does_not_divide_is_named() -> None:
    with pytest.raises(ValueError, match="9 does not divide into 2 blocks"):
        cut("blocks.0.fc1.weight", torch.zeros(36, 9), Shape("two_d", 2), 0)
