"""The code of each rank in the tests of the elastic and the asynchronous rules."""

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
from trainers.collectives.runners.allreduce import make_allreduce
from trainers.collectives.wire.connections import Connections
from trainers.collectives.wire.rank_lost import RankLost
from trainers.optimizers.rate_inside import RateInsideSGD
from trainers.rules.asynchronous import AsynchronousSGD
from trainers.rules.centers.center import Center
from trainers.rules.centers.center_client import CenterClient
from trainers.rules.centers.center_update import ElasticUpdate, GradientUpdate
from trainers.rules.centers.replicated_center import ReplicatedCenter
from trainers.rules.centers.request_order import FirstComeOrder, LockFreeOrder, RankOrder, RequestOrder
from trainers.rules.centers.served_center import ServedCenter
from trainers.rules.centers.tree_center import TreeCenter
from trainers.rules.elastic import ElasticAveraging
from trainers.rules.flat_vector import flatten_weights
from trainers.rules.rule import Rule

RATE, RHO, MOMENTUM = 0.05, 2.0, 0.9
TIMEOUT_S, SHORT_S = 60.0, 5.0  # for ranks that work, and in tests that lose a rank
HIT_AFTER = 20  # steps


def net() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 1))


def order(name: str, timeout_s: float = TIMEOUT_S) -> RequestOrder:
    kinds: dict[str, Callable[..., RequestOrder]] = {
        "original": RankOrder,
        "async": FirstComeOrder,
        "hogwild": LockFreeOrder,
    }
    return kinds[name](dist.get_world_size(), timeout_s=timeout_s)


def center(name: str, start_N: Tensor, timeout_s: float = TIMEOUT_S) -> Center:
    rank, world = dist.get_rank(), dist.get_world_size()
    ranks, connections = range(world), Connections()
    if name == "sync1":
        reduce = make_allreduce(tree.reduce(ranks, range(1)), chunks=1, connections=connections)
        broadcast = make_allreduce(tree.broadcast(ranks, range(1)), chunks=1, connections=connections)
        return TreeCenter(start_N, broadcast=broadcast, reduce=reduce, rank=rank, world=world)
    if name in ("sync2", "sync3"):
        allreduce = make_allreduce(ring.allreduce(ranks, ranks), chunks=world, connections=connections)
        return ReplicatedCenter(start_N, allreduce=allreduce, world=world, overlap=name == "sync3")
    return ServedCenter(CenterClient(ElasticUpdate(start_N), order(name, timeout_s), timeout_s=timeout_s))


def elastic(
    name: str, model: nn.Module, *, momentum: float = 0.0, period: int = 1, timeout_s: float = TIMEOUT_S
) -> tuple[Rule, Tensor]:
    x_N = flatten_weights(list(model.parameters()))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=momentum)
    overlap = name == "sync3"
    return ElasticAveraging(x_N, optimizer, center(name, x_N, timeout_s), rho=RHO, period=period, overlap=overlap), x_N


def asynchronous(name: str, model: nn.Module, *, momentum: float = 0.0) -> tuple[Rule, Tensor]:
    params = list(model.parameters())
    x_N = flatten_weights(params)
    optimizer = torch.optim.SGD(params, lr=RATE)
    client = CenterClient(GradientUpdate(x_N, momentum=momentum), order(name), timeout_s=TIMEOUT_S)
    return AsynchronousSGD(x_N, params, optimizer, client=client), x_N


def train(rule: Rule, model: nn.Module, steps: int, *, seed: int) -> list[float]:
    """Fit a fixed linear map; return the losses."""
    generator = torch.Generator().manual_seed(seed)
    w_51 = torch.linspace(-1, 1, 5)[:, None]
    losses = []
    for _ in range(steps):
        rule.begin_step()
        x_B5 = torch.randn(16, 5, generator=generator)
        loss = nn.functional.mse_loss(model(x_B5), x_B5 @ w_51)
        loss.backward()
        losses.append(float(rule.step(loss.detach())))
    return losses


def trained(name: str, momentum: float = 0.0, period: int = 1, steps: int = 30) -> tuple[list[float], Tensor, Tensor]:
    """Return the losses, the rank's weights and the center's weights after `steps` steps."""
    model = net()
    rule, x_N = elastic(name, model, momentum=momentum, period=period)
    losses = train(rule, model, steps, seed=dist.get_rank())
    rule.wait_for_all()
    with rule.evaluation_weights():
        c_N = x_N.clone()
    return losses, x_N.clone(), c_N


def loss_at(w_N: Tensor) -> float:
    """Return the loss with these weights on samples that no rank has seen."""
    model, w_51 = net(), torch.linspace(-1, 1, 5)[:, None]
    nn.utils.vector_to_parameters(w_N, model.parameters())
    x_B5 = torch.randn(256, 5, generator=torch.Generator().manual_seed(99))
    with torch.no_grad():
        return float(nn.functional.mse_loss(model(x_B5), x_B5 @ w_51))


def without_gradient(name: str, exchanges: int) -> tuple[Tensor, Tensor]:
    """Return the rank's weights and the center's after exchanges of different replicas without gradients."""
    model = net()
    rule, x_N = elastic(name, model)
    x_N += dist.get_rank() + 1
    for _ in range(exchanges):
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        rule.begin_step()
        rule.step(torch.tensor(0.0))
    rule.wait_for_all()
    with rule.evaluation_weights():
        c_N = x_N.clone()
    return x_N.clone(), c_N


def descended(name: str, momentum: float = 0.0, steps: int = 30) -> tuple[list[float], Tensor]:
    """Return the losses of asynchronous SGD and the weights on rank 0."""
    model = net()
    rule, x_N = asynchronous(name, model, momentum=momentum)
    losses = train(rule, model, steps, seed=dist.get_rank())
    rule.wait_for_all()
    with rule.evaluation_weights():
        return losses, x_N.clone()


def plain(momentum: float, steps: int = 30) -> tuple[list[float], Tensor]:
    """Return the losses and weights of one process with torch's SGD."""
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


def record_order(name: str, rounds: int) -> list[int]:
    """Return, on rank 0, the ranks whose messages moved the center, in order."""
    x_N = flatten_weights(list(net().parameters()))
    results: list[int] = []
    client = CenterClient(_Noted(x_N, results), order(name), timeout_s=TIMEOUT_S)
    for _ in range(rounds):
        client.exchange(torch.full_like(x_N, dist.get_rank()), 0.5, [0.0])
    client.wait_for_all()
    return results


class _Noted(ElasticUpdate):
    def __init__(self, start_N: Tensor, results: list[int]) -> None:
        super().__init__(start_N)
        self._results = results

    def __call__(self, part: slice, message_n: Tensor, number: float, *, answer_n: Tensor) -> None:
        self._results.append(int(message_n[0]))
        super().__call__(part, message_n, number, answer_n=answer_n)


def lose_rank(name: str, victim: int, steps: int, signum: int) -> Any:
    """Send a signal to rank `victim` after a few steps; return the other ranks' seconds and rank 0's lost ranks."""
    model = net()
    rule, _ = elastic(name, model, timeout_s=SHORT_S if signum == signal.SIGSTOP else TIMEOUT_S)
    dist.barrier()
    started = time.monotonic()
    if dist.get_rank() == victim:
        train(rule, model, HIT_AFTER, seed=victim)
        os.kill(os.getpid(), signum)
    try:
        train(rule, model, steps, seed=dist.get_rank())
        rule.wait_for_all()
    except RankLost as error:
        return str(error)
    server = rule._center._client.server  # type: ignore[attr-defined]
    return time.monotonic() - started, sorted(server.lost) if server else None


def state_of(rule: Rule, model: nn.Module) -> dict[str, Any]:
    parts = {"model": model, "optimizer": rule._optimizer, "rule": rule}  # type: ignore[attr-defined]
    return copy.deepcopy({name: part.state_dict() for name, part in parts.items()})


def resumed(name: str, steps: int) -> list[tuple[list[float], Tensor]]:
    """Return losses and weights of a run's second half, continued and resumed from its state."""
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


def train_with_slow_rank(name: str, slow: int) -> float:
    """Return the seconds of this rank's 30 steps; rank `slow` takes its second step after the other ranks' last."""
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
    rule.wait_for_all()
    return spent_s


def train_on_quadratic(name: str, steps: int) -> float:
    """Return the center's final distance (root mean square) from the minimum, with gradient noise of 0.3."""
    x_N = torch.nn.Parameter(torch.full((1000,), 5.0))
    flat_N = flatten_weights([x_N])
    optimizer = torch.optim.SGD([x_N], lr=RATE)
    rule = ElasticAveraging(flat_N, optimizer, center(name, flat_N), rho=RHO, period=1, overlap=False)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(steps):
        x_N.grad = x_N.detach() - 1.0 + 0.3 * torch.randn(1000, generator=generator)
        rule.step(torch.tensor(0.0))
    rule.wait_for_all()
    with rule.evaluation_weights():
        return float((flat_N - 1.0).square().mean().sqrt())


def send_request(name: str, requester: int, at: int, steps: int) -> list[list[float]]:
    """Return the requests received by this rank; rank `requester` sends one from step `at` until received."""
    model = net()
    rule, _ = elastic(name, model)
    received, is_received = [], False
    for step in range(1, steps + 1):
        request = float(dist.get_rank() == requester and step >= at and not is_received)
        rule.begin_step([0.0, 7 * request])
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        _, *requests = rule.step(torch.tensor([1.0, 0.0, 7 * request])).tolist()
        is_received = is_received or any(requests)
        if any(requests):
            received.append([step, *requests])
        dist.barrier()
    rule.wait_for_all()
    return received


def elastic_momentum(rates: list[float]) -> tuple[Tensor, Tensor, Tensor]:
    """Return weights, velocity and center of one replica after steps along a gradient of 1 at changing rates."""
    x_N = torch.nn.Parameter(torch.full((1,), 1.0))
    flat_N = flatten_weights([x_N])
    optimizer = RateInsideSGD([x_N], lr=0.0, momentum=MOMENTUM)
    rule = ElasticAveraging(flat_N, optimizer, center("async", flat_N), rho=RHO, period=1, overlap=False)
    for rate in rates:
        optimizer.param_groups[0]["lr"] = rate
        x_N.grad = torch.ones(1)
        rule.step(torch.tensor(0.0))
    rule.wait_for_all()
    velocity = optimizer.state[x_N]["velocity"].clone()
    with rule.evaluation_weights():
        c_N = flat_N.clone()
    return flat_N.clone(), velocity, c_N
