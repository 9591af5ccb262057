"""The choice by size is alike on every rank and can be kept; the links are measured once for all."""

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives import layout
from trainers.collectives.plans import catalog, ring, torus
from trainers.collectives.pricing.links import Links, measure
from trainers.collectives.pricing.price import choose
from trainers.collectives.runners.allreduce import Allreduce, follow
from trainers.collectives.runners.auto import Auto
from trainers.collectives.runners.native_torus import native_torus
from trainers.collectives.runners.p2p_allreduce import exchange
from trainers.collectives.runners.rank_schedule import turns
from trainers.collectives.wire.group_connections import mesh_of


def candidates() -> dict[str, Allreduce]:
    ranks = range(dist.get_world_size())
    return {
        "ring": follow(ring.allreduce(ranks, ranks), chunks=len(ranks)),
        "torus": follow(torus.allreduce(ranks, ranks, rows=2), chunks=len(ranks)),
    }


def rehearse_then_keep() -> dict[int, str]:
    auto = Auto(candidates())
    for length in (1, 1000, 1023, 100_000):
        x_N = torch.ones(length)
        auto(x_N)
        assert torch.equal(x_N, torch.full((length,), 4.0))

    def refuse(nbytes: int) -> str:
        raise AssertionError(f"{nbytes} bytes are decided already")

    again = Auto(candidates(), choose=refuse, choices=auto.choices)
    again(torch.ones(1010))
    return auto.choices


def test_every_rank_chooses_alike_once_per_class_of_sizes_and_the_choice_can_be_kept() -> None:
    results = on_ranks(4, rehearse_then_keep)
    assert results[0].keys() == {3, 12, 19}
    assert all(result == results[0] for result in results)


def test_a_kept_choice_must_name_an_algorithm() -> None:
    with pytest.raises(ValueError, match=r"\['tree'\]; the algorithms are \['ring'\]"):
        Auto({"ring": torch.nn.Identity()}, choices={3: "tree"})


def measured() -> Links:
    links = measure(mesh_of(None))
    x_N = torch.ones(3)
    candidates()["torus"](x_N)  # the ranks that were left out have counted on
    assert x_N.tolist() == [4.0] * 3
    return links


def test_all_ranks_know_the_same_links() -> None:
    links = on_ranks(4, measured)
    assert links[0].inside is not None
    assert links[0].inside.alpha_s > 0
    assert links[0].between is None
    assert links == [links[0]] * 4
    assert links[0].work is not None
    assert 0 < links[0].work.cores < 8  # four ranks cannot do the work of eight
    assert 0 < links[0].work.message_s < 1
    network = links[0].network([range(4)])
    assert choose(catalog.candidates(network.hosts), network, 1 << 25).seconds(1 << 25) > 0


@pytest.mark.parametrize(
    ("hosts", "rows"), [("aabb", 2), ("aaaabbbb", 2), ("aaa", 1), ("abcd", 4), ("aab", 1), ("abab", 2), ("aaab", 2)]
)
def test_a_row_is_a_host_where_that_fits_and_else_the_grid_is_square(hosts: str, rows: int) -> None:
    assert layout.rows(hosts) == rows


def rounded_on_the_wire(wire: torch.dtype) -> tuple[Tensor, Tensor]:
    rank, ranks = dist.get_rank(), range(dist.get_world_size())
    x_N = torch.randn(1000, generator=torch.Generator().manual_seed(rank))
    exact_N = x_N.clone()
    dist.all_reduce(exact_N)
    follow(torus.allreduce(ranks, ranks, rows=2), chunks=len(ranks), wire=wire)(x_N)
    return x_N, exact_N


@pytest.mark.parametrize("wire", [torch.bfloat16, torch.float16])
def test_a_16_bit_wire_leaves_the_same_bits_everywhere_near_the_sum(wire: torch.dtype) -> None:
    results = on_ranks(4, rounded_on_the_wire, wire)
    for x_N, exact_N in results:
        torch.testing.assert_close(x_N, exact_N, rtol=0, atol=16 * torch.finfo(wire).eps)
        assert torch.equal(x_N, results[0][0])


def as_on_a_gpu() -> None:
    ranks = range(dist.get_world_size())
    mine = turns(torus.allreduce(ranks, ranks, rows=2), dist.get_rank())
    by_columns = native_torus(rows=2)
    for length in (0, 1, 5, 64):
        for allreduce in (lambda x_N: exchange(x_N, mine, chunks=4, group=None), by_columns):
            x_N = torch.arange(length) * float(dist.get_rank() + 1)
            allreduce(x_N)
            assert torch.equal(x_N, torch.arange(length) * 10.0)


def test_what_a_gpu_would_run_sums_right_with_gloo() -> None:
    on_ranks(4, as_on_a_gpu)
