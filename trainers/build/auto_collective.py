"""Resolve `auto`: choose the cheapest collective for every size once per run, for all its attempts."""

import torch
import torch.distributed as dist
from pydantic import TypeAdapter

from contract.folder.auto_choice import CollectiveChoice, CollectiveChoices, MeasuredLink
from contract.spec.choices import collectives as choices
from trainers.collectives.json_exchange import broadcast_json
from trainers.collectives.layout import Hosts
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing import links
from trainers.collectives.pricing.price import price
from trainers.collectives.pricing.size_classes import cheapest_by_size
from trainers.collectives.wire.group_connections import connections_of
from trainers.progress.auto_choice_store import AutoChoiceStore

CHOSEN: TypeAdapter[choices.ResolvedCollective] = TypeAdapter(choices.ResolvedCollective)
EARLIER: TypeAdapter[CollectiveChoices | None] = TypeAdapter(CollectiveChoices | None)


def choose_collectives(
    auto: choices.Auto, hosts: Hosts, *, device: torch.device, choice_store: AutoChoiceStore
) -> CollectiveChoices:
    """Return an earlier attempt's choices if they apply, else the cheapest collectives on the links measured now.

    All ranks call this together and get the same result: rank 0 reads, chooses and writes.
    """
    sizes, is_first = [len(host) for host in hosts], dist.get_rank() == 0
    earlier, note = choice_store.read(sizes) if is_first else (None, None)
    if shared := EARLIER.validate_python(broadcast_json(EARLIER.dump_python(earlier, mode="json"))):
        if is_first:
            choice_store.reuse(shared)
        return shared
    measured = links.Links(None, None) if device.type == "cuda" else links.measure(connections_of(None))
    chosen = _choose(auto, hosts, measured, device=device, choice_store=choice_store, note=note) if is_first else None
    return CollectiveChoices.model_validate(broadcast_json(chosen.model_dump(mode="json") if chosen else None))


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
    if device.type == "cuda":
        found = [CollectiveChoice(from_bytes=0, collective=choose_on_gpus(auto))]
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


def choose_on_gpus(auto: choices.Auto) -> choices.Native | choices.Torus:
    """Return the collective on GPUs, where no links are measured: those that are measured connect processors.

    NCCL's all-reduce has no 16-bit wire for float32 values, so with one it is the torus.
    """
    if auto.wire is None:
        return choices.Native(timeout_s=auto.timeout_s)
    return choices.Torus(wire=auto.wire, timeout_s=auto.timeout_s)


def _describe_link(link: links.Link | None) -> MeasuredLink | None:
    return MeasuredLink(latency_s=link.alpha_s, rate=1 / max(link.beta_s, links.BETA_S)) if link else None
