"""Endpoints of collectives: predicted costs on a network, and plans round by round."""

from functools import lru_cache
from threading import Lock
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, ValidationError

from api.errors import Busy, Invalid
from api.http.statuses import UNCHANGED, problems
from contract.api.collectives import PlanView, PriceList, PriceView, RoundView, TensorPrice, TensorPriceList
from contract.described_model import DescribedModel
from contract.folder.auto_choice import CollectiveChoice
from contract.spec.checks.world_size import check_world_size
from contract.spec.choices.collectives import PlannedCollective
from contract.validation import ValidationIssue, issues_of
from trainers.collectives.layout import hosts_of
from trainers.collectives.plan import Operation, Plan, Round, Sends
from trainers.collectives.plans import blocks
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import Price, count_runner_segments, price
from trainers.collectives.pricing.size_classes import cheapest_by_size
from trainers.plans import plan_of
from trainers.tensor.calls import Sizes
from trainers.tensor.price import price_pass, shapes_of

router = APIRouter(prefix="/collectives", tags=["collectives"])
MAX_PRICED_RANKS, MAX_PLAN_RANKS, MAX_MESH_RANKS = 4096, 64, 128
# 4,096 ranks take seconds of a core, and each new rate or latency is a new evaluation: all requests share one core
EVALUATION_WAIT_S = 1.0
_evaluation = Lock()
Rate = Annotated[float, Query(ge=1, le=1e15, allow_inf_nan=False)]
Seconds = Annotated[float, Query(ge=0, le=60, allow_inf_nan=False)]
Kind = Literal["ring", "torus", "tree", "colors", "hierarchical", "halving_doubling", "server"]


class Ranks(DescribedModel):
    """The hosts and ranks of a query."""

    hosts: Annotated[int, Query(ge=1, le=MAX_PRICED_RANKS)] = 2
    """Number of hosts."""
    ranks_per_host: Annotated[int, Query(ge=1, le=MAX_PRICED_RANKS)] = 4
    """Number of ranks on each host."""


class NetworkQuery(Ranks):
    """The parameters of a network in a query."""

    rate: Rate = 1.25e9
    """Rate over the link of a host in each direction, in bytes per second."""
    inside_rate: Rate = 5e9
    """Rate at which a rank sends inside its host, in bytes per second."""
    add_rate: Rate = 10e9
    """Bytes per second that a rank adds."""
    latency_s: Seconds = 20e-6
    """Latency of a message between two hosts, in seconds."""
    inside_latency_s: Seconds = 2e-6
    """Latency of a message between two ranks of one host, in seconds."""
    message_s: Seconds = 1e-6
    """Processor time of the sender and of the receiver of each message, in seconds."""


class PriceQuery(NetworkQuery):
    """The parameters of a list of prices in a query: a network, and what the ranks carry out on it."""

    operation: Operation = "all_reduce"
    """What the ranks carry out: the sum on all ranks, or an operation of tensor parallelism."""


class PlanQuery(Ranks):
    """The parameters of a plan in a query: the collective and its shape. The range of a shape depends on the ranks."""

    kind: Kind
    """The collective, or the way of another operation: `ring`, `halving_doubling` or `tree`."""
    operation: Operation = "all_reduce"
    """What the plan does: the sum on all ranks, or an operation of tensor parallelism."""
    rows: Annotated[int | None, Query(examples=[2])] = None
    """Number of rows of the collective `torus`; without it, one row per host."""
    k: Annotated[int | None, Query(examples=[4])] = None
    """Number of colors of the collective `colors`; without it 4."""
    group: Annotated[int | None, Query(examples=[4])] = None
    """Ranks per group of the collective `hierarchical`; without it, the ranks of a host."""
    servers: Annotated[int | None, Query(examples=[1])] = None
    """Number of servers of the collective `server`; without it 1."""


class GptQuery(NetworkQuery):
    """The parameters of a network, and of a pass of a GPT on it, in a query."""

    width: Annotated[int, Query(ge=1, le=2**20)] = 1024
    """Width of the GPT."""
    layers: Annotated[int, Query(ge=1, le=4096)] = 24
    """Number of its blocks."""
    vocabulary: Annotated[int, Query(ge=1, le=2**24)] = 256
    """Number of its tokens."""
    context: Annotated[int, Query(ge=1, le=2**20)] = 1024
    """Tokens of a sample."""
    samples: Annotated[int, Query(ge=1, le=2**20)] = 8
    """Samples of a pass of one replica."""


class ParsedCollective(BaseModel):
    """A collective, read by its kind."""

    collective: Annotated[PlannedCollective, Field(discriminator="kind")]


@router.get("/price", responses=UNCHANGED | problems(422))
def get_prices(
    price_query: Annotated[PriceQuery, Query()],
    size_bytes: Annotated[
        float,
        Query(
            ge=1,
            le=1e15,
            allow_inf_nan=False,
            alias="bytes",
            description="Size of the whole vector, in bytes.",
            examples=[1e8],
        ),
    ],
) -> PriceList:
    """Return the predicted cost of every plan of an operation for a vector size, the cheapest first."""
    operation, figures = price_query.operation, price_query.model_dump(exclude={"operation"})
    network, evaluated = evaluate_network(price_query.hosts, price_query.ranks_per_host, figures, operation)
    bound_s = network.bound_s(size_bytes, operation)
    found = [_price_view(one, size_bytes, bound_s) for one in evaluated]
    auto = [
        CollectiveChoice(from_bytes=start, collective=collective_of(taken))
        for start, taken in (cheapest_by_size(evaluated) if operation == "all_reduce" else [])
    ]
    return PriceList(
        world=network.world,
        operation=operation,
        bound_s=bound_s,
        prices=sorted(found, key=lambda view: view.seconds),
        auto=auto,
    )


@router.get("/plan", responses=UNCHANGED | problems(422))
def get_plan(plan_query: Annotated[PlanQuery, Query()]) -> PlanView:
    """Return the plan of a collective with up to 64 ranks, round by round."""
    hosts = plan_query.hosts
    world = _world(hosts, plan_query.ranks_per_host, most=MAX_PLAN_RANKS)
    chosen = _parse_collective(plan_query.model_dump(exclude={*Ranks.model_fields, "operation"}, exclude_none=True))
    if issue := check_world_size(chosen, world):
        raise Invalid(issue.message, [issue])
    places = hosts_of(world, hosts)
    found = plan_of(chosen, places) if plan_query.operation == "all_reduce" else _block_plan(plan_query, places)
    return PlanView(
        collective=chosen,
        operation=found.operation,
        hosts=places,
        chunks=found.chunks,
        rounds=[_round_view(sends) for sends in found],
    )


@router.get("/tensor-price", responses=UNCHANGED | problems(422))
def get_tensor_prices(asked: Annotated[GptQuery, Query()]) -> TensorPriceList:
    """Return the predicted communication of tensor parallelism on every mesh of up to 128 ranks, the cheapest first."""
    world = _world(asked.hosts, asked.ranks_per_host, most=MAX_MESH_RANKS)
    sizes = asked.model_dump(include={*GptQuery.model_fields} - {*NetworkQuery.model_fields})
    figures = asked.model_dump(include={*NetworkQuery.model_fields} - {*Ranks.model_fields})
    network = Network(hosts=hosts_of(world, asked.hosts), **figures)
    found = [price_pass(shape, Sizes(**sizes), network) for shape in shapes_of(world)]
    return TensorPriceList(
        world=world,
        prices=[
            TensorPrice(
                kind=one.shape.kind,
                side=one.shape.side,
                words_per_rank=one.words_per_rank,
                collectives=one.collectives,
                seconds=one.seconds,
            )
            for one in sorted(found, key=lambda one: one.seconds)
        ],
    )


def _block_plan(asked: PlanQuery, places: list[list[int]]) -> Plan:
    """Return the plan of another operation than the all-reduce."""
    plans = blocks.plans(asked.operation, places)
    for found in plans:
        if found.kind == asked.kind:
            return found
    ways = " or ".join(dict.fromkeys(found.kind for found in plans))
    ranks = sum(map(len, places))
    message = f"{asked.operation} among {ranks} ranks has no plan of the kind {asked.kind}: use {ways}"
    raise Invalid(message, [ValidationIssue(path="kind", message=message)])


def evaluate_network(
    hosts: int, ranks_per_host: int, parameters: dict[str, Any], operation: Operation = "all_reduce"
) -> tuple[Network, list[Price]]:
    """Return the network of a query and the price of every plan there; raise Invalid for too many ranks."""
    return _evaluate(_world(hosts, ranks_per_host, most=MAX_PRICED_RANKS), tuple(parameters.items()), operation)


@lru_cache(maxsize=32)  # the evaluation of the rounds does not depend on the size
def _evaluate(world: int, parameters: tuple[tuple[str, Any], ...], operation: Operation) -> tuple[Network, list[Price]]:
    figures = {name: value for name, value in parameters if name not in ("hosts", "ranks_per_host")}
    network = Network(hosts=hosts_of(world, dict(parameters)["hosts"]), **figures)
    if not _evaluation.acquire(timeout=EVALUATION_WAIT_S):
        message = "the service evaluates the collectives of another network; send the request again in some seconds"
        raise Busy(f"{message} (one evaluation at a time; {world:,} ranks)")
    try:
        found = candidates(network.hosts) if operation == "all_reduce" else blocks.plans(operation, network.hosts)
        return network, [price(plan, network) for plan in found]
    finally:
        _evaluation.release()


def _world(hosts: int, ranks_per_host: int, *, most: int) -> int:
    world = hosts * ranks_per_host
    if world > most:
        message = f"{hosts} x {ranks_per_host} = {world:,} ranks, more than the limit of {most:,}"
        raise Invalid(message, [ValidationIssue(path="ranks_per_host", message=message)])
    return world


def _parse_collective(fields: dict[str, Any]) -> PlannedCollective:
    try:
        return ParsedCollective.model_validate({"collective": fields}).collective
    except ValidationError as error:
        issues = [ValidationIssue(path=f.path.removeprefix("collective."), message=f.message) for f in issues_of(error)]
        raise Invalid("the collective is not valid", issues) from None


def collective_of(plan: Plan) -> PlannedCollective:
    """Return the spec's choice of a plan."""
    return _parse_collective({"kind": plan.kind, **plan.shape})


def _price_view(found: Price, size_bytes: float, bound_s: float) -> PriceView:
    seconds = found.runner_seconds(size_bytes)
    return PriceView(
        collective=collective_of(found.plan),
        rounds=found.rounds,
        segments=count_runner_segments(size_bytes),
        link_bytes=found.link_share * size_bytes,
        seconds=seconds,
        times_bound=seconds / bound_s if bound_s else None,
    )


def _round_view(sends: Round) -> RoundView:
    src, dst, start, size, add = (column.tolist() for column in Sends.of(sends).columns)
    return RoundView(src=src, dst=dst, start=start, size=size, add=add)
