"""Collectives: what each costs on a network, and any plan round by round."""

from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, ValidationError

from api.errors import Invalid
from contract.api.responses import PlanView, PriceList, PriceView, RoundView
from contract.folder.auto_choice import Choice
from contract.spec.checks.world_size import misfit
from contract.spec.choices.collectives import Planned
from contract.validation import Fault, faults_of
from trainers.collectives.layout import hosts_of
from trainers.collectives.plan import Plan, Round, Sends
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import Price, price
from trainers.collectives.pricing.size_classes import cheapest
from trainers.plans import plan_of

router = APIRouter(prefix="/collectives", tags=["collectives"])
MOST_PRICED, MOST_DRAWN = 4096, 64
Count = Annotated[int, Query(ge=1, le=MOST_PRICED)]
Rate = Annotated[float, Query(gt=0, le=1e15, allow_inf_nan=False, description="bytes per second")]
Seconds = Annotated[float, Query(ge=0, le=60, allow_inf_nan=False)]
Kind = Literal["ring", "torus", "tree", "colors", "hierarchical", "halving_doubling", "server"]


class Asked(BaseModel):
    """A network's figures, as a query gives them."""

    hosts: Count = 2
    ranks_per_host: Count = 4
    rate: Rate = 1.25e9
    inside_rate: Rate = 5e9
    add_rate: Rate = 10e9
    latency_s: Seconds = 20e-6
    inside_latency_s: Seconds = 2e-6
    message_s: Seconds = 1e-6


class Chosen(BaseModel):
    """A collective, as a query's fields say it."""

    collective: Annotated[Planned, Field(discriminator="kind")]


@router.get("/price")
def prices(
    asked: Annotated[Asked, Query()],
    size_bytes: Annotated[float, Query(gt=0, le=1e15, allow_inf_nan=False, alias="bytes")],
) -> PriceList:
    """Every collective's price for a vector of so many bytes, the cheapest first."""
    world = _world(asked.hosts, asked.ranks_per_host, most=MOST_PRICED)
    network, evaluated = _evaluated(world, tuple(asked.model_dump().items()))
    bound_s = network.bound_s(size_bytes)
    found = [_priced(one, size_bytes, bound_s) for one in evaluated]
    auto = [Choice(from_bytes=start, collective=_named(taken)) for start, taken in cheapest(evaluated)]
    return PriceList(world=world, bound_s=bound_s, prices=sorted(found, key=lambda view: view.seconds), auto=auto)


@router.get("/plan")
def plan(
    kind: Kind,
    hosts: Count = 2,
    ranks_per_host: Count = 4,
    *,
    rows: int | None = None,
    k: int | None = None,
    group: int | None = None,
    servers: int | None = None,
) -> PlanView:
    """A plan among up to 64 ranks, round by round."""
    world = _world(hosts, ranks_per_host, most=MOST_DRAWN)
    shape = {"rows": rows, "k": k, "group": group, "servers": servers}
    chosen = _chosen({"kind": kind} | {name: value for name, value in shape.items() if value is not None})
    if fault := misfit(chosen, world):
        raise Invalid(fault.message, [fault])
    places = hosts_of(world, hosts)
    found = plan_of(chosen, places)
    return PlanView(collective=chosen, hosts=places, chunks=found.chunks, rounds=[_drawn(sends) for sends in found])


@lru_cache(maxsize=32)  # for another size the rounds need not be gone through again
def _evaluated(world: int, asked: tuple[tuple[str, Any], ...]) -> tuple[Network, list[Price]]:
    figures = {name: value for name, value in asked if name not in ("hosts", "ranks_per_host")}
    network = Network(hosts=hosts_of(world, dict(asked)["hosts"]), **figures)
    return network, [price(plan, network) for plan in candidates(network.hosts)]


def _world(hosts: int, ranks_per_host: int, *, most: int) -> int:
    world = hosts * ranks_per_host
    if world > most:
        message = f"{hosts} x {ranks_per_host} = {world:,} ranks; at most {most:,} are taken"
        raise Invalid(message, [Fault(path="ranks_per_host", message=message)])
    return world


def _chosen(fields: dict[str, Any]) -> Planned:
    try:
        return Chosen.model_validate({"collective": fields}).collective
    except ValidationError as error:
        faults = [Fault(path=f.path.removeprefix("collective."), message=f.message) for f in faults_of(error)]
        raise Invalid("there is no such collective", faults) from None


def _named(plan: Plan) -> Planned:
    return _chosen({"kind": plan.kind, **plan.shape})


def _priced(found: Price, size_bytes: float, bound_s: float) -> PriceView:
    seconds = found.seconds(size_bytes)
    return PriceView(
        collective=_named(found.plan),
        rounds=found.rounds,
        segments=found.segments(size_bytes),
        link_bytes=found.link_share * size_bytes,
        seconds=seconds,
        times_bound=seconds / bound_s if bound_s else None,
    )


def _drawn(sends: Round) -> RoundView:
    src, dst, start, size, add = (column.tolist() for column in Sends.of(sends).columns)
    return RoundView(src=src, dst=dst, start=start, size=size, add=add)
