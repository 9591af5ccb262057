"""What each rank does in the tests of the elastic and the asynchronous rules."""

import copy
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainers.collectives.plans import ring, tree
from trainers.collectives.runners.allreduce import follow
from trainers.collectives.wire.connections import Mesh
from trainers.collectives.wire.rank_lost import RankLost
from trainers.rules.asynchronous import Asynchronous
from trainers.rules.centers.center import Center
from trainers.rules.centers.center_client import Door, Served
from trainers.rules.centers.center_update import Along, Towards
from trainers.rules.centers.replicated_center import Replicated
from trainers.rules.centers.request_order import FirstCome, LockFree, Order, RankOrder
from trainers.rules.centers.tree_center import Mastered
from trainers.rules.elastic import Elastic
from trainers.rules.flat_vector import weights
from trainers.rules.rule import Rule

RATE, RHO, MOMENTUM = 0.05, 2.0, 0.9
TIMEOUT_S, SHORT_S = 60.0, 5.0  # for ranks that are well, and where one is to be missed
HIT_AFTER = 20  # steps


def net() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 1))


def order(name: str, timeout_s: float = TIMEOUT_S) -> Order:
    kinds: dict[str, Callable[..., Order]] = {"original": RankOrder, "async": FirstCome, "hogwild": LockFree}
    return kinds[name](dist.get_world_size(), timeout_s=timeout_s)


def center(name: str, start_N: Tensor, timeout_s: float = TIMEOUT_S) -> Center:
    rank, world = dist.get_rank(), dist.get_world_size()
    ranks, mesh = range(world), Mesh()
    if name == "sync1":
        reduce = follow(tree.reduce(ranks, range(1)), chunks=1, mesh=mesh)
        broadcast = follow(tree.broadcast(ranks, range(1)), chunks=1, mesh=mesh)
        return Mastered(start_N, broadcast=broadcast, reduce=reduce, rank=rank, world=world)
    if name in ("sync2", "sync3"):
        allreduce = follow(ring.allreduce(ranks, ranks), chunks=world, mesh=mesh)
        return Replicated(start_N, allreduce=allreduce, world=world, overlap=name == "sync3")
    return Served(Door(Towards(start_N), order(name, timeout_s), timeout_s=timeout_s))


def elastic(
    name: str, model: nn.Module, *, momentum: float = 0.0, period: int = 1, timeout_s: float = TIMEOUT_S
) -> tuple[Rule, Tensor]:
    x_N = weights(list(model.parameters()))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=momentum)
    overlap = name == "sync3"
    return Elastic(x_N, optimizer, center(name, x_N, timeout_s), rho=RHO, period=period, overlap=overlap), x_N


def asynchronous(name: str, model: nn.Module, *, momentum: float = 0.0) -> tuple[Rule, Tensor]:
    params = list(model.parameters())
    x_N = weights(params)
    optimizer = torch.optim.SGD(params, lr=RATE)
    door = Door(Along(x_N, momentum=momentum), order(name), timeout_s=TIMEOUT_S)
    return Asynchronous(x_N, params, optimizer, door=door), x_N


def train(rule: Rule, model: nn.Module, steps: int, *, seed: int) -> list[float]:
    """Fit a fixed linear map; return the losses."""
    generator = torch.Generator().manual_seed(seed)
    w_51 = torch.linspace(-1, 1, 5)[:, None]
    losses = []
    for _ in range(steps):
        rule.begin()
        x_B5 = torch.randn(16, 5, generator=generator)
        loss = nn.functional.mse_loss(model(x_B5), x_B5 @ w_51)
        loss.backward()
        losses.append(float(rule.step(loss.detach())))
    return losses


def trained(name: str, momentum: float = 0.0, period: int = 1, steps: int = 30) -> tuple[list[float], Tensor, Tensor]:
    """Losses, own weights and the center's after so many steps."""
    model = net()
    rule, x_N = elastic(name, model, momentum=momentum, period=period)
    losses = train(rule, model, steps, seed=dist.get_rank())
    rule.settle()
    with rule.answer():
        c_N = x_N.clone()
    return losses, x_N.clone(), c_N


def loss_at(w_N: Tensor) -> float:
    """How well these weights fit the map, on samples that no rank has seen."""
    model, w_51 = net(), torch.linspace(-1, 1, 5)[:, None]
    nn.utils.vector_to_parameters(w_N, model.parameters())
    x_B5 = torch.randn(256, 5, generator=torch.Generator().manual_seed(99))
    with torch.no_grad():
        return float(nn.functional.mse_loss(model(x_B5), x_B5 @ w_51))


def without_gradient(name: str, exchanges: int) -> tuple[Tensor, Tensor]:
    """Own weights and the center's after exchanges of replicas that start apart and have no gradient."""
    model = net()
    rule, x_N = elastic(name, model)
    x_N += dist.get_rank() + 1
    for _ in range(exchanges):
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        rule.begin()
        rule.step(torch.tensor(0.0))
    rule.settle()
    with rule.answer():
        c_N = x_N.clone()
    return x_N.clone(), c_N


def descended(name: str, momentum: float = 0.0, steps: int = 30) -> tuple[list[float], Tensor]:
    """Losses, and the weights at rank 0, of asynchronous SGD."""
    model = net()
    rule, x_N = asynchronous(name, model, momentum=momentum)
    losses = train(rule, model, steps, seed=dist.get_rank())
    rule.settle()
    with rule.answer():
        return losses, x_N.clone()


def plain(momentum: float, steps: int = 30) -> tuple[list[float], Tensor]:
    """One process with torch's own SGD."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=momentum)
    generator, w_51, losses = torch.Generator().manual_seed(0), torch.linspace(-1, 1, 5)[:, None], []
    for _ in range(steps):
        x_B5 = torch.randn(16, 5, generator=generator)
        loss = nn.functional.mse_loss(model(x_B5), x_B5 @ w_51)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, torch.cat([p.detach().flatten() for p in model.parameters()])


def talks(name: str, rounds: int) -> list[int]:
    """On rank 0: whose messages moved the center, in order."""
    x_N = weights(list(net().parameters()))
    told: list[int] = []
    door = Door(_Noted(x_N, told), order(name), timeout_s=TIMEOUT_S)
    for _ in range(rounds):
        door.exchange(torch.full_like(x_N, dist.get_rank()), 0.5, [0.0])
    door.settle()
    return told


class _Noted(Towards):
    def __init__(self, start_N: Tensor, told: list[int]) -> None:
        super().__init__(start_N)
        self._told = told

    def __call__(self, part: slice, message_n: Tensor, number: float, *, answer_n: Tensor) -> None:
        self._told.append(int(message_n[0]))
        super().__call__(part, message_n, number, answer_n=answer_n)


def with_a_victim(name: str, victim: int, steps: int, signum: int) -> Any:
    """Rank `victim` is hit by the signal after a few steps; return the seconds of the others, and whom rank 0 lost."""
    model = net()
    rule, _ = elastic(name, model, timeout_s=SHORT_S if signum == signal.SIGSTOP else TIMEOUT_S)
    dist.barrier()
    started = time.monotonic()
    if dist.get_rank() == victim:
        train(rule, model, HIT_AFTER, seed=victim)
        os.kill(os.getpid(), signum)
    try:
        train(rule, model, steps, seed=dist.get_rank())
        rule.settle()
    except RankLost as error:
        return str(error)
    keeper = rule._center._door.keeper  # type: ignore[attr-defined]
    return time.monotonic() - started, sorted(keeper.lost) if keeper else None


def state_of(rule: Rule, model: nn.Module) -> dict[str, Any]:
    parts = {"model": model, "optimizer": rule._optimizer, "rule": rule}  # type: ignore[attr-defined]
    return copy.deepcopy({name: part.state_dict() for name, part in parts.items()})


def resumed(name: str, steps: int) -> list[tuple[list[float], Tensor]]:
    """Losses and weights of a run's second half: gone on with, and from what was saved."""
    model, other = net(), net()
    rule, x_N = elastic(name, model, momentum=MOMENTUM, period=2)
    train(rule, model, steps, seed=dist.get_rank())
    dist.barrier()
    state = state_of(rule, model)
    dist.barrier()
    whole = train(rule, model, steps, seed=10 + dist.get_rank()), x_N.clone()
    again, y_N = elastic(name, other, momentum=MOMENTUM, period=2)
    other.load_state_dict(state["model"])
    again._optimizer.load_state_dict(state["optimizer"])  # type: ignore[attr-defined]
    again.load_state_dict(state["rule"])
    return [whole, (train(again, other, steps, seed=10 + dist.get_rank()), y_N.clone())]


def beside_a_slow_one(name: str, slow: int) -> float:
    """Return the seconds of this rank's 30 steps; rank `slow` takes its second when the others are through."""
    model, rank, steps = net(), dist.get_rank(), 30
    rule, _ = elastic(name, model)
    store = dist.distributed_c10d._get_default_store()
    dist.barrier()
    started = time.monotonic()
    if rank == slow:
        train(rule, model, 1, seed=rank)
        store.wait([f"{other} is through" for other in range(dist.get_world_size()) if other != slow])
        steps -= 1
    train(rule, model, steps, seed=rank)
    spent_s = time.monotonic() - started
    store.set(f"{rank} is through", "")
    rule.settle()
    return spent_s


def on_a_bowl(name: str, steps: int) -> float:
    """Return how far (root mean square) the center ends from a bowl's bottom, with gradients under noise of 0.3."""
    x_N = torch.nn.Parameter(torch.full((1000,), 5.0))
    flat_N = weights([x_N])
    optimizer = torch.optim.SGD([x_N], lr=RATE)
    rule = Elastic(flat_N, optimizer, center(name, flat_N), rho=RHO, period=1, overlap=False)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(steps):
        x_N.grad = x_N.detach() - 1.0 + 0.3 * torch.randn(1000, generator=generator)
        rule.step(torch.tensor(0.0))
    rule.settle()
    with rule.answer():
        return float((flat_N - 1.0).square().mean().sqrt())


def wished(name: str, wisher: int, at: int, steps: int) -> list[list[float]]:
    """At which of its steps this rank heard which wishes; rank `wisher` has one from step `at` on until it is heard."""
    model = net()
    rule, _ = elastic(name, model)
    heard, is_heard = [], False
    for step in range(1, steps + 1):
        wish = float(dist.get_rank() == wisher and step >= at and not is_heard)
        rule.begin([0.0, 7 * wish])
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        _, *wishes = rule.step(torch.tensor([1.0, 0.0, 7 * wish])).tolist()
        is_heard = is_heard or any(wishes)
        if any(wishes):
            heard.append([step, *wishes])
        dist.barrier()
    rule.settle()
    return heard
