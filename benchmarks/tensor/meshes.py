"""Measure passes on a mesh, and price them with the links and the processors that the same ranks have measured."""

from typing import Any

from benchmarks.headline.report import hosts_of_layout
from benchmarks.launcher import run_ranks
from contract.spec.choices.tensor import OneD, ThreeD, TwoD
from trainers.build.tensor import shape_of
from trainers.collectives.layout import hosts_of
from trainers.collectives.plans import halving_doubling
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import FLOAT_BYTES, price
from trainers.tensor.calls import Sizes
from trainers.tensor.price import price_pass

HERE = "here"  # the layout of ranks on this machine alone, as in here4: for a trial without the lab


def measure_passes(layout: str, mesh: OneD | TwoD | ThreeD, sizes: list[dict[str, int]], *, repeats: int) -> Any:
    """Return what the ranks measured; each pass has its price beside it, with measured and with assumed costs."""
    hosts, per_host = ([""], int(layout.removeprefix(HERE))) if layout.startswith(HERE) else hosts_of_layout(layout)
    task = {"mesh": mesh.model_dump(), "sizes": sizes, "repeats": repeats, "hosts": len(hosts)}
    found = run_ranks("benchmarks.tensor.rank", hosts, per_host, task, timeout_s=1800)
    places = hosts_of(len(hosts) * per_host, len(hosts))
    network = Network(hosts=places, **found["network"])
    smallest_s = price(halving_doubling.plan(places), network).runner_seconds(FLOAT_BYTES)
    call_s = max(found["smallest_call_s"] - smallest_s, 0.0)
    assumed = Network(hosts=places, rate=network.rate)
    for size, one in zip(sizes, found["passes"], strict=True):
        priced = price_pass(shape_of(mesh), Sizes(**size), network, call_s=call_s)
        one["sizes"] = size
        one["priced_s"], one["words_per_rank"] = priced.seconds, priced.words_per_rank
        one["priced_with_assumed_costs_s"] = price_pass(shape_of(mesh), Sizes(**size), assumed).seconds
    return {"layout": layout, "mesh": mesh.model_dump(), "ranks": network.world, "call_s": call_s, **found}
