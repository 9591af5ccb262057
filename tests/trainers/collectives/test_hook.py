"""A plain DDP script gets the torus in two lines, and learns what DDP alone would have learnt."""

from threading import Event

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives import hook
from trainers.collectives.wire.rank_lost import RankLost


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 400), nn.Tanh(), nn.Linear(400, 400), nn.Tanh(), nn.Linear(400, 1))


def learnt(wire: torch.dtype | None, *, with_torus: bool) -> Tensor:
    # buckets of 0.1 MB: several are under way while backward goes on
    model = DistributedDataParallel(net(), bucket_cap_mb=0.1)
    if with_torus:
        hook.torus(model, wire=wire)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x_BD = torch.randn(16, 32, generator=torch.Generator().manual_seed(dist.get_rank()))
    for _ in range(4):
        optimizer.zero_grad()
        model(x_BD).square().mean().backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def both_ways(wire: torch.dtype | None) -> tuple[Tensor, Tensor]:
    return learnt(wire, with_torus=True), learnt(wire, with_torus=False)


@pytest.mark.parametrize(("wire", "tolerance"), [(None, 1e-5), (torch.bfloat16, 1e-2)])
def test_ddp_with_the_torus_learns_what_ddp_learns(wire: torch.dtype | None, tolerance: float) -> None:
    results = on_ranks(4, both_ways, wire)
    for ours_N, theirs_N in results:
        torch.testing.assert_close(ours_N, theirs_N, rtol=tolerance, atol=tolerance)
        assert torch.equal(ours_N, results[0][0])


def break_off() -> str:
    model = DistributedDataParallel(net())
    hook.torus(model, timeout_s=2.0)
    if dist.get_rank() == 1:
        dist.barrier()  # never comes to the sum
        return ""
    try:
        model(torch.ones(1, 32)).sum().backward()
    except (RankLost, RuntimeError) as error:
        dist.barrier()
        return str(error)
    return "no error"


def test_backward_raises_when_a_rank_is_lost() -> None:
    assert "rank 1 said nothing" in on_ranks(2, break_off)[0]


def sum_waits_for_the_rest_of_backward() -> list[bool]:
    torch.manual_seed(0)
    layers = [nn.Linear(600, 600) for _ in range(4)]  # 1.4 MB each: a bucket each
    model = DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=1)
    is_first_layer_done, seen = Event(), list[bool]()
    layers[0].weight.register_post_accumulate_grad_hook(lambda _: is_first_layer_done.set())

    def allreduce(flat_N: Tensor) -> None:
        seen.append(is_first_layer_done.wait(timeout=20))
        dist.all_reduce(flat_N)

    hook.attach(model, allreduce)
    for _ in range(2):  # DDP has one bucket in the first pass, whatever its size
        is_first_layer_done.clear()
        seen.clear()
        model(torch.ones(1, 600)).sum().backward()
    return seen


def test_backward_goes_on_while_a_bucket_is_summed() -> None:
    for seen in on_ranks(2, sum_waits_for_the_rest_of_backward):
        assert len(seen) > 1
        assert all(seen)
