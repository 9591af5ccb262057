"""Resolve `auto`: choose the cheapest collective for every size once per run, for all its attempts."""

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.distributed as dist
from pydantic import TypeAdapter

from contract.folder.auto_choice import CollectiveChoice, CollectiveChoices, MeasuredLink
from contract.spec.choices import collectives as choices
from trainers.collectives.layout import Hosts
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing import links
from trainers.collectives.pricing.price import price
from trainers.collectives.pricing.size_classes import cheapest_by_size
from trainers.collectives.wire.group_connections import connections_of
from trainers.progress.auto_choice_store import AutoChoiceStore

CHOSEN: TypeAdapter[choices.ResolvedCollective] = TypeAdapter(choices.ResolvedCollective)
T = TypeVar("T")


def choose_collectives(
    auto: choices.Auto, hosts: Hosts, *, device: torch.device, choice_store: AutoChoiceStore
) -> CollectiveChoices:
    """Return an earlier attempt's choices if they apply, else the cheapest collectives on the links measured now.

    All ranks call this together and get the same result: rank 0 reads, chooses and writes.
    """
    sizes = [len(host) for host in hosts]
    earlier, note = _call_on_first(lambda: choice_store.read(sizes))
    if earlier:
        _call_on_first(lambda: choice_store.reuse(earlier))
        return earlier
    measured = links.Links(None, None) if device.type == "cuda" else links.measure(connections_of(None))
    return _call_on_first(lambda: _choose(auto, hosts, measured, device=device, choice_store=choice_store, note=note))


def _choose(
    auto: choices.Auto,
    hosts: Hosts,
    measured: links.Links,
    *,
    device: torch.device,
    choice_store: AutoChoiceStore,
    note: str | None,
) -> CollectiveChoices:
    """Choose by price, and store the choices."""
    if device.type == "cuda":  # the measured links connect processors, not GPUs
        found = [CollectiveChoice(from_bytes=0, collective=choices.Native(timeout_s=auto.timeout_s))]
    else:
        network, how = measured.network(hosts), {"wire": auto.wire, "timeout_s": auto.timeout_s}
        found = [
            CollectiveChoice(
                from_bytes=start, collective=CHOSEN.validate_python({"kind": plan.kind, **plan.shape, **how})
            )
            for start, plan in cheapest_by_size([price(plan, network) for plan in candidates(hosts)])
        ]
    chosen = CollectiveChoices(
        hosts=[len(host) for host in hosts],
        inside=_describe_link(measured.inside),
        between=_describe_link(measured.between),
        choices=found,
    )
    choice_store.write(chosen, note)
    return chosen


def _describe_link(link: links.Link | None) -> MeasuredLink | None:
    return MeasuredLink(latency_s=link.alpha_s, rate=1 / max(link.beta_s, links.BETA_S)) if link else None


def _on_first(do: Callable[[], None]) -> None:
    if dist.get_rank() == 0:
        do()


def _call_on_first(answer: Callable[[], T]) -> T:
    """Call a function on rank 0, and return its result on every rank."""
    objects = [answer() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(objects, device=torch.device("cpu"))
    result: T = objects[0]  # type: ignore[assignment]  # every rank has received rank 0's object
    return result
