"""`auto`: the cheapest collective for every size, chosen once for a run and kept by all its attempts."""

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.distributed as dist
from pydantic import TypeAdapter

from contract.folder.auto_choice import Choice, Choices, Link
from contract.spec.choices import collectives as choices
from trainers.collectives.layout import Hosts
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing import links
from trainers.collectives.pricing.price import price
from trainers.collectives.pricing.size_classes import cheapest
from trainers.collectives.wire.group_connections import mesh_of
from trainers.progress.auto_choice_store import Kept

CHOSEN: TypeAdapter[choices.Chosen] = TypeAdapter(choices.Chosen)
T = TypeVar("T")


def settle(auto: choices.Auto, hosts: Hosts, *, device: torch.device, kept: Kept) -> Choices:
    """What `auto` takes: what an earlier attempt chose, else what is cheapest on the links as they are now.

    All ranks call this together, and all get the same answer: rank 0 reads, chooses and writes.
    """
    sizes = [len(host) for host in hosts]
    earlier, note = _from_first(lambda: kept.read(sizes))
    if earlier:
        _on_first(lambda: kept.take_up(earlier))
        return earlier
    measured = links.Links(None, None) if device.type == "cuda" else links.measure(mesh_of(None))
    return _from_first(lambda: _chosen(auto, hosts, measured, device=device, kept=kept, note=note))


def _chosen(
    auto: choices.Auto, hosts: Hosts, measured: links.Links, *, device: torch.device, kept: Kept, note: str | None
) -> Choices:
    """Choose by price, and keep it."""
    if device.type == "cuda":  # what was measured between processors says nothing of GPUs
        found = [Choice(from_bytes=0, collective=choices.Native(timeout_s=auto.timeout_s))]
    else:
        network, how = measured.network(hosts), {"wire": auto.wire, "timeout_s": auto.timeout_s}
        found = [
            Choice(from_bytes=start, collective=CHOSEN.validate_python({"kind": plan.kind, **plan.shape, **how}))
            for start, plan in cheapest([price(plan, network) for plan in candidates(hosts)])
        ]
    chosen = Choices(
        hosts=[len(host) for host in hosts],
        inside=_told(measured.inside),
        between=_told(measured.between),
        choices=found,
    )
    kept.keep(chosen, note)
    return chosen


def _told(link: links.Link | None) -> Link | None:
    return Link(latency_s=link.alpha_s, rate=1 / max(link.beta_s, links.BETA_S)) if link else None


def _on_first(do: Callable[[], None]) -> None:
    if dist.get_rank() == 0:
        do()


def _from_first(answer: Callable[[], T]) -> T:
    """What rank 0 answers, on every rank."""
    told = [answer() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(told, device=torch.device("cpu"))
    found: T = told[0]  # type: ignore[assignment]
    return found
