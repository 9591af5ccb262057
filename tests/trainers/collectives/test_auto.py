"""All ranks choose the same algorithm for a size and measure the same links; the choice can be stored."""

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives import layout
from trainers.collectives.plans import catalog, ring, torus
from trainers.collectives.pricing.links import LARGE_BYTES, Links, fit_link, measure
from trainers.collectives.pricing.price import choose
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce
from trainers.collectives.runners.auto import AutoAllreduce
from trainers.collectives.runners.native_torus import native_torus
from trainers.collectives.runners.p2p_allreduce import p2p_allreduce
from trainers.collectives.runners.rank_schedule import rank_schedule
from trainers.collectives.wire.group_connections import connections_of


def candidates() -> dict[str, Allreduce]:
    ranks = range(dist.get_world_size())
    return {
        "ring": make_allreduce(ring.allreduce(ranks, ranks), chunks=len(ranks)),
        "torus": make_allreduce(torus.allreduce(ranks, ranks, rows=2), chunks=len(ranks)),
    }


def choose_then_reuse() -> dict[int, str]:
    auto = AutoAllreduce(candidates())
    for length in (1, 1000, 1023, 100_000):
        x_N = torch.ones(length)
        auto(x_N)
        assert torch.equal(x_N, torch.full((length,), 4.0))

    def fail(nbytes: int) -> str:
        raise AssertionError(f"the choice for {nbytes} bytes is stored already")

    again = AutoAllreduce(candidates(), choose=fail, choices=auto.choices)
    again(torch.ones(1010))
    return auto.choices


@pytest.mark.ring("all")
def test_all_ranks_make_the_same_choice_once_per_size_class_and_can_reuse_it() -> None:
    results = on_ranks(4, choose_then_reuse)
    assert results[0].keys() == {3, 12, 19}
    assert all(result == results[0] for result in results)


def test_a_stored_choice_must_name_an_algorithm() -> None:
    with pytest.raises(ValueError, match=r"\['tree'\]; the algorithms are \['ring'\]"):
        AutoAllreduce({"ring": torch.nn.Identity()}, choices={3: "tree"})


def measure_and_sum() -> Links:
    links = measure(connections_of(None))
    x_N = torch.ones(3)
    candidates()["torus"](x_N)  # ranks outside the measured pair have counted the same segments
    assert x_N.tolist() == [4.0] * 3
    return links


@pytest.mark.ring("all")
def test_all_ranks_measure_the_same_links() -> None:
    links = on_ranks(4, measure_and_sum)
    assert links[0].inside is not None
    assert links[0].inside.alpha_s > 0
    assert links[0].between is None
    assert links == [links[0]] * 4
    assert links[0].processor is not None
    assert 0 < links[0].processor.cores < 8  # four ranks cannot do the work of eight
    assert 0 < links[0].processor.message_s < 1
    network = links[0].network([range(4)])
    assert choose(catalog.candidates(network.hosts), network, 1 << 25).seconds(1 << 25) > 0


@pytest.mark.parametrize(
    ("hosts", "rows"), [("aabb", 2), ("aaaabbbb", 2), ("aaa", 1), ("abcd", 4), ("aab", 1), ("abab", 2), ("aaab", 2)]
)
def test_a_row_is_a_host_if_hosts_have_equal_sizes_and_else_the_grid_is_the_squarest(hosts: str, rows: int) -> None:
    assert layout.count_rows(hosts) == rows


@pytest.mark.parametrize("burst_bytes", [0, 65536])
def test_a_link_that_lets_its_first_bytes_pass_has_this_burst(burst_bytes: int) -> None:
    alpha_s, rate = 1e-4, 25e6
    one_s, two_s = (alpha_s + (size - burst_bytes) / rate for size in LARGE_BYTES)
    link = fit_link(alpha_s, one_s, two_s)
    assert (link.alpha_s, link.beta_s) == pytest.approx((alpha_s, 1 / rate))
    assert link.burst_bytes == pytest.approx(burst_bytes, abs=1)
    assert Links(None, link).network([[0], [1]]).burst_bytes == link.burst_bytes


def test_a_large_message_that_was_held_up_gives_no_burst_below_0() -> None:
    assert fit_link(1e-4, 0.05, 0.06).burst_bytes == 0


def sum_on_narrow_wire(wire: torch.dtype) -> tuple[Tensor, Tensor]:
    rank, ranks = dist.get_rank(), range(dist.get_world_size())
    x_N = torch.randn(1000, generator=torch.Generator().manual_seed(rank))
    exact_N = x_N.clone()
    dist.all_reduce(exact_N)
    make_allreduce(torus.allreduce(ranks, ranks, rows=2), chunks=len(ranks), wire=wire)(x_N)
    return x_N, exact_N


@pytest.mark.ring("all")
@pytest.mark.parametrize("wire", [torch.bfloat16, torch.float16])
def test_a_16_bit_wire_gives_the_same_bits_on_all_ranks_near_the_exact_sum(wire: torch.dtype) -> None:
    results = on_ranks(4, sum_on_narrow_wire, wire)
    for x_N, exact_N in results:
        torch.testing.assert_close(x_N, exact_N, rtol=0, atol=16 * torch.finfo(wire).eps)
        assert torch.equal(x_N, results[0][0])


def sum_as_on_a_gpu() -> None:
    ranks = range(dist.get_world_size())
    schedule = rank_schedule(torus.allreduce(ranks, ranks, rows=2), dist.get_rank())
    by_columns = native_torus([[0, 1], [2, 3]])
    for length in (0, 1, 5, 64):
        for allreduce in (lambda x_N: p2p_allreduce(x_N, schedule, chunks=4, group=None), by_columns):
            x_N = torch.arange(length) * float(dist.get_rank() + 1)
            allreduce(x_N)
            assert torch.equal(x_N, torch.arange(length) * 10.0)


def test_the_all_reduces_for_gpus_give_the_sum_with_gloo() -> None:
    on_ranks(4, sum_as_on_a_gpu)
