"""A plain DDP script uses the torus with two lines, and gets the same weights as with DDP alone."""

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


def train(wire: torch.dtype | None, *, with_torus: bool) -> Tensor:
    # with 0.1 MB per bucket, several buckets are in flight during the backward pass
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


def train_both_ways(wire: torch.dtype | None) -> tuple[Tensor, Tensor]:
    return train(wire, with_torus=True), train(wire, with_torus=False)


@pytest.mark.ring("all")
@pytest.mark.parametrize(("wire", "tolerance"), [(None, 1e-5), (torch.bfloat16, 1e-2)])
def test_ddp_with_the_torus_trains_the_same_weights_as_ddp(wire: torch.dtype | None, tolerance: float) -> None:
    results = on_ranks(4, train_both_ways, wire)
    for torus_N, ddp_N in results:
        torch.testing.assert_close(torus_N, ddp_N, rtol=tolerance, atol=tolerance)
        assert torch.equal(torus_N, results[0][0])


def lose_a_rank() -> str:
    model = DistributedDataParallel(net())
    hook.torus(model, timeout_s=2.0)
    if dist.get_rank() == 1:
        dist.barrier()  # this rank never starts the sum
        return ""
    try:
        model(torch.ones(1, 32)).sum().backward()
    except (RankLost, RuntimeError) as error:
        dist.barrier()
        return str(error)
    return "no error"


@pytest.mark.ring("all")
def test_backward_raises_when_a_rank_is_lost() -> None:
    assert "rank 1 did not respond" in on_ranks(2, lose_a_rank)[0]


def wait_in_the_sum_for_the_first_layer() -> list[bool]:
    torch.manual_seed(0)
    layers = [nn.Linear(600, 600) for _ in range(4)]  # 1.4 MB each, so one bucket each
    model = DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=1)
    is_first_layer_done, seen = Event(), list[bool]()
    layers[0].weight.register_post_accumulate_grad_hook(lambda _: is_first_layer_done.set())

    def allreduce(flat_N: Tensor) -> None:
        seen.append(is_first_layer_done.wait(timeout=20))
        dist.all_reduce(flat_N)

    hook.attach(model, allreduce)
    for _ in range(2):  # in the first pass DDP uses a single bucket of any size
        is_first_layer_done.clear()
        seen.clear()
        model(torch.ones(1, 600)).sum().backward()
    return seen


@pytest.mark.ring("all")
def test_backward_continues_while_a_bucket_is_summed() -> None:
    for seen in on_ranks(2, wait_in_the_sum_for_the_first_layer):
        assert len(seen) > 1
        assert all(seen)
