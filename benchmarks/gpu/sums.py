"""Checks of the sums over the ranks: torus on groups, plans by messages, overlap on a stream, the hook for DDP."""

from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.gpu.place import Figures, Place, check_close
from trainers.collectives import hook, layout
from trainers.collectives.plans import colors, halving_doubling, hierarchical, ring, server, torus, tree
from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.async_allreduce import AsyncAllreduce, wait_for_sum
from trainers.collectives.runners.native_torus import native_torus
from trainers.collectives.runners.p2p_allreduce import p2p_allreduce
from trainers.collectives.runners.rank_schedule import rank_schedule
from trainers.collectives.runners.side_stream import SideStream

WIRES = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
LENGTHS = (1, 7, 1000, 1_000_003)


def check_torus_on_groups(place: Place) -> Figures:
    """Compare the torus on groups with the backend's all-reduce, and time both."""
    hosts = [range(dist.get_world_size())]
    found: Figures = {}
    for name, wire in WIRES.items():
        allreduce = native_torus(layout.grid(hosts), wire=wire, timeout_s=60.0, backend=place.backend)
        found[name] = _compare(place, allreduce, wire)
    x_N = torch.ones(place.size(25_000_000, 100_000), device=place.device)
    found["backend_s"] = place.seconds(lambda: dist.all_reduce(x_N.fill_(1.0)))
    return found


def check_plans_by_messages(place: Place) -> Figures:
    """Compare every plan, run by point-to-point messages, with the backend's all-reduce."""
    world = dist.get_world_size()
    hosts, group = [range(world)], place.group()
    plans = [
        ring.plan(hosts),
        torus.plan(hosts),
        tree.plan(hosts),
        colors.plan(hosts, k=min(2, world)),
        hierarchical.plan(hosts, group=max(1, world // 2)),
        halving_doubling.plan(hosts),
        server.plan(hosts, servers=1),
    ]
    found: Figures = {}
    for plan in plans:
        schedule = rank_schedule(plan.rounds_of(dist.get_rank()), dist.get_rank())
        for name, wire in WIRES.items():
            allreduce = partial(p2p_allreduce, schedule=schedule, chunks=plan.chunks, group=group, wire=wire)
            found[f"{plan.kind} {name}"] = _compare(place, allreduce, wire)
    return found


def check_overlap(place: Place) -> Figures:
    """Time products, a sum, and both at once: a sum on its own stream hides behind the products."""
    side = place.size(4096, 256)
    a_NN = torch.randn(side, side, device=place.device)
    x_N = torch.ones(place.size(25_000_000, 100_000), device=place.device)
    stream, group = SideStream(), place.group()
    sums = AsyncAllreduce(lambda x_N: dist.all_reduce(x_N, group=group), side=stream)
    repeats = place.size(20, 2)

    def multiply() -> None:
        for _ in range(repeats):
            torch.mm(a_NN, a_NN)

    def both() -> None:
        future = sums.start(x_N.fill_(1.0))
        multiply()
        wait_for_sum(future)

    def on_stream() -> None:
        with stream.after_current(place.device):
            dist.all_reduce(x_N.fill_(1.0), group=group)

    products_s, sum_s, both_s = place.seconds(multiply), place.seconds(on_stream), place.seconds(both)
    place.wait()
    check_close(x_N, torch.full_like(x_N, float(dist.get_world_size())), tolerance=0.0, name="the sum beside products")
    found = {"products_s": products_s, "sum_s": sum_s, "both_s": both_s}
    if dist.get_world_size() == 1:
        return found  # one rank sends nothing that could be hidden
    return found | {"hidden_share": (products_s + sum_s - both_s) / min(products_s, sum_s)}


def check_hook(place: Place) -> Figures:
    """Compare DDP with and without the torus hook after some steps."""
    found: Figures = {}
    for name, wire in (("float32", None), ("bfloat16", torch.bfloat16)):
        expected_N = _train_with_ddp(place, None, with_torus=False)
        weights_N = _train_with_ddp(place, wire, with_torus=True)
        tolerance = 1e-4 if wire is None else 5e-2
        found[name] = check_close(weights_N, expected_N, tolerance=tolerance, name=f"DDP with the torus, {name}")
    return found


def _train_with_ddp(place: Place, wire: torch.dtype | None, *, with_torus: bool) -> Tensor:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(32, 400), nn.Tanh(), nn.Linear(400, 1)).to(place.device)
    model = DistributedDataParallel(net, bucket_cap_mb=1)
    if with_torus:
        hook.torus(model, wire=wire, timeout_s=60.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x_BD = torch.randn(16, 32, generator=torch.Generator().manual_seed(dist.get_rank())).to(place.device)
    for _ in range(4):
        optimizer.zero_grad()
        model(x_BD).square().mean().backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()]).cpu()


def _compare(place: Place, allreduce: Allreduce, wire: torch.dtype | None) -> Figures:
    """Return the largest difference from the backend's sum, and the seconds of a large sum."""
    world = dist.get_world_size()
    tolerance = 1e-4 if wire is None else 8 * world * torch.finfo(wire).eps
    largest = 0.0
    for length in LENGTHS:
        x_N = torch.randn(length, generator=torch.Generator().manual_seed(dist.get_rank())).to(place.device)
        expected_N = x_N.clone()
        dist.all_reduce(expected_N)
        allreduce(x_N)
        place.wait()
        largest = max(largest, check_close(x_N, expected_N, tolerance=tolerance, name=f"a sum of {length} numbers"))
    large_N = torch.ones(place.size(25_000_000, 100_000), device=place.device)
    return {"difference": largest, "seconds": place.seconds(lambda: allreduce(large_N.fill_(1.0)))}
