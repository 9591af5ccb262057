"""The prices of a plan beside its update rules: K-FAC, and tensor parallelism of a GPT on meshes of ranks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from contract.api.planning.plans import PlanRequest
from contract.spec.choices.data import ImportedData, Text
from contract.spec.choices.models import GPT
from contract.spec.choices.preconditioners import KFAC
from study.planner.memory import KFACBytes, kfac_bytes
from study.planner.options import Extras, KFACTimes, MeshTimes
from study.planner.plan import RankShare, rank_share
from trainers.collectives.layout import hosts_of
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import Price, price
from trainers.kfac_price import KFACChoice, RankSpeed, price_kfac, stored_words
from trainers.layer_shapes import LayerShape, gpt_shapes, layer_shapes
from trainers.tensor.calls import Sizes
from trainers.tensor.price import does_divide, price_pass, shapes_of

WORD_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def price_extras(request: PlanRequest, network: Network, sums: Sequence[Price], *, size_bytes: float) -> Extras:
    """Return what K-FAC adds to a step, and the meshes on which the net can be cut."""
    layers = _layers(request)
    held = None if layers is None else _kfac_bytes(request, layers, network)
    share = rank_share(request, held)
    return Extras(
        kfac=None if layers is None else _kfac(request, layers, share, network, sums),
        kfac_bytes=held,
        meshes=list(_meshes(request, share, network, size_bytes)),
    )


def _kfac_bytes(request: PlanRequest, layers: Sequence[LayerShape], network: Network) -> KFACBytes:
    """Return the memory of K-FAC on the rank with the most inverses."""
    choice = _choice(request)
    factor_words, held_words = stored_words(layers, choice, world=network.world)
    return kfac_bytes(factor_words, held_words, message_bytes=choice.factor_bytes)


def _choice(request: PlanRequest) -> KFACChoice:
    chosen = request.preconditioner or KFAC()
    return KFACChoice(
        chosen.factor_every,
        chosen.inverse_every,
        chosen.method,
        chosen.holding_fraction,
        WORD_BYTES[chosen.factor_dtype],
    )


def _kfac(
    request: PlanRequest, layers: Sequence[LayerShape], share: RankShare, network: Network, sums: Sequence[Price]
) -> KFACTimes | None:
    if share.flops is None:
        return None
    choice = _choice(request)
    samples = max(1, round(share.samples))
    found = price_kfac(layers, choice, samples=samples, speed=RankSpeed(share.flops), network=network, sums=sums)
    return KFACTimes(added_s=found.plain_s * (found.ratio - 1), ratio=found.ratio)


def _layers(request: PlanRequest) -> list[LayerShape] | None:
    """Return the layers of a GPT or of a net for square images; None for others."""
    model, data = request.model, request.data
    if isinstance(model, GPT) and isinstance(data, Text):
        return gpt_shapes(model, context=data.context, vocabulary=data.vocabulary)
    if isinstance(data, ImportedData) and (data.classes is None or len(data.shape) != 3):
        return None
    shape = getattr(data, "shape", None)
    if shape is None or len(shape) != 3 or shape[1] != shape[2]:
        return None
    try:
        return layer_shapes(model, channels=shape[0], pixels=shape[1], classes=getattr(data, "classes", 0))
    except ValueError:
        return None


def _meshes(request: PlanRequest, share: RankShare, network: Network, size_bytes: float) -> Iterator[MeshTimes]:
    """Yield each mesh whose replicas divide the ranks, and the width, heads, tokens and samples of the net.

    A replica lies on one host or on whole hosts. Its exchanges are priced on its own ranks alone, because the other
    replicas have links of their own or send inside the same hosts. The gradients of a rank's shard are summed over the
    replicas; the ranks of a host share its link, so their sums are priced as one.
    """
    model, data = request.model, request.data
    if not isinstance(model, GPT) or not isinstance(data, Text):
        return
    per_host = len(network.hosts[0])
    for ranks in range(2, network.world + 1):
        if network.world % ranks or (per_host % ranks and ranks % per_host):
            continue
        samples = max(1, round(share.micro_batch * ranks))
        sizes = Sizes(samples, data.context, model.width, model.layers, data.vocabulary)
        shapes = [shape for shape in shapes_of(ranks) if does_divide(shape, sizes, heads=model.heads)]
        if not shapes:
            continue
        part = replace(network, hosts=hosts_of(ranks, max(1, ranks // per_host)))
        summed_s = _shard_sum_s(network, ranks, per_host, size_bytes)
        for shape in shapes:
            inside_s = share.passes * price_pass(shape, sizes, part).seconds
            yield MeshTimes(f"tensor {shape.kind} of {ranks}", ranks, inside_s, summed_s)


def _shard_sum_s(network: Network, ranks: int, per_host: int, size_bytes: float) -> float:
    """Return the time in which the replicas sum their gradients."""
    replicas = network.world // ranks
    if replicas == 1:
        return 0.0
    if ranks >= per_host:  # each host has one part of each sum: as one sum of the host's share
        hosts = [[host] for host in range(replicas)]
        return _cheapest(replace(network, hosts=hosts), size_bytes * per_host / ranks)
    peers = per_host // ranks  # replicas on a host
    hosts = hosts_of(replicas, replicas // peers)
    return _cheapest(replace(network, hosts=hosts), size_bytes)


def _cheapest(network: Network, size_bytes: float) -> float:
    figures = tuple((name, value) for name, value in vars(network).items() if name != "hosts")
    sums = _price_sums(tuple(map(tuple, network.hosts)), figures)
    return min(one.runner_seconds(size_bytes) for one in sums)


@lru_cache(maxsize=64)  # the evaluation of the rounds does not depend on the size
def _price_sums(hosts: tuple[tuple[int, ...], ...], figures: tuple[tuple[str, float], ...]) -> list[Price]:
    """Price every collective but the parameter servers, which are the slowest and whose evaluation takes longest."""
    network = Network(hosts=hosts, **dict(figures))
    return [price(plan, network) for plan in candidates(network.hosts) if plan.kind != "server"]
