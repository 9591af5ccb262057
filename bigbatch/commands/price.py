"""`bigbatch price`: predict the cost of every collective on a network, or of a step with K-FAC."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.connection import Parameters
from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import print_json, print_table
from bigbatch.terminal.price_tables import parse_gpt, print_kfac_price, print_meshes
from bigbatch.terminal.units import format_bytes, format_duration, parse_duration, parse_rate, parse_size
from contract.api.collectives import PriceList
from contract.folder.auto_choice import CollectiveChoice
from contract.spec.choices.collectives import describe_collective

Size = Annotated[
    float | None, typer.Option("--bytes", parser=parse_size, metavar="SIZE", help="Size of the vector: 100MB, 16MiB.")
]
Hosts = Annotated[int, typer.Option(min=1, help="Number of hosts.")]
Ranks = Annotated[int, typer.Option(min=1, help="Number of ranks per host.")]
Link = Annotated[
    float, typer.Option("--rate", parser=parse_rate, metavar="RATE", help="Rate of a host's link: 10GB/s.")
]
Inside = Annotated[float, typer.Option(parser=parse_rate, metavar="RATE", help="Rate between ranks of a host: 5GB/s.")]
Gpt = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES",
        help="Instead: ranks that share a GPT of these sizes: width=1024,layers=24,context=1024,samples=8.",
    ),
]
Latency = Annotated[float, typer.Option(parser=parse_duration, metavar="TIME", help="Latency between hosts: 20us.")]
KFACModel = Annotated[
    str | None,
    typer.Option("--kfac", metavar="MODEL", help="Instead: a step with K-FAC of this net, such as resnet50."),
]
Pixels = Annotated[int, typer.Option(min=64, help="With --kfac: side of the images.")]
Classes = Annotated[int, typer.Option(min=2, help="With --kfac: number of classes.")]
Samples = Annotated[int, typer.Option(min=1, help="With --kfac: samples of a rank at each step.")]
Flops = Annotated[float, typer.Option(help="With --kfac: operations per second of a rank.")]
FactorEvery = Annotated[int, typer.Option(min=1, help="With --kfac: steps between updates of the factors.")]
InverseEvery = Annotated[int, typer.Option(min=1, help="With --kfac: steps between updates of the inverses.")]
Holding = Annotated[float, typer.Option(min=0, max=1, help="With --kfac: 1 is comm_opt, 0 is layer_wise.")]


def price(
    hosts: Hosts,
    ranks_per_host: Ranks,
    link_rate: Link,
    *,
    size_bytes: Size = None,
    kfac: KFACModel = None,
    pixels: Pixels = 224,
    classes: Classes = 1000,
    samples: Samples = 32,
    flops: Flops = 1e13,
    factor_every: FactorEvery = 10,
    inverse_every: InverseEvery = 100,
    fraction: Holding = 1.0,
    inside_rate: Inside = "5GB/s",  # type: ignore[assignment]  # typer parses the default as well
    latency: Latency = "20us",  # type: ignore[assignment]
    gpt: Gpt = None,
    as_json: Json = False,
) -> None:
    """Print the predicted cost of every collective on a network, the cheapest first; or of K-FAC, or of meshes."""
    network = {"rate": link_rate, "inside_rate": inside_rate, "latency_s": latency}
    ranks = {"hosts": hosts, "ranks_per_host": ranks_per_host}
    if gpt is not None:
        sizes = parse_gpt(gpt)
        with Client() as client:
            on_meshes = client.tensor_prices({**ranks, **network, **sizes})
        print_json(on_meshes) if as_json else print_meshes(on_meshes)
        return
    if kfac is not None:
        of_net: Parameters = {"model": kfac, "pixels": pixels, "classes": classes, "samples": samples, "flops": flops}
        every: Parameters = {"factor_every": factor_every, "inverse_every": inverse_every, "fraction": fraction}
        with Client() as client:
            cost = client.kfac_price({**ranks, **network, **of_net, **every})
        print_json(cost) if as_json else print_kfac_price(cost)
        return
    if size_bytes is None:
        raise typer.BadParameter("name the size of the vector, --bytes 100MB, or a net, --kfac resnet50")
    with Client() as client:
        found = client.prices(size_bytes, hosts=hosts, ranks_per_host=ranks_per_host, network=network)
    if as_json:
        print_json(found)
        return
    _print_prices(found, size_bytes)


def _print_prices(found: PriceList, size_bytes: float) -> None:
    rows = [
        (
            describe_collective(one.collective),
            f"{one.rounds:,}",
            str(one.segments),
            format_bytes(one.link_bytes),
            format_duration(one.seconds),
            f"{one.times_bound:.2f}" if one.times_bound else "-",
        )
        for one in found.prices
    ]
    print_table(("collective", "rounds", "segments", "busiest link", "time", "x bound"), rows)
    starts = [*(choice.from_bytes for choice in found.auto[1:]), None]
    spans = zip(found.auto, starts, strict=True)
    print_message("auto would choose " + ", ".join(_span(choice, until) for choice, until in spans))
    print_message(f"{found.world:,} ranks, {format_bytes(size_bytes)}; the bound is {format_duration(found.bound_s)}")


def _span(choice: CollectiveChoice, until: int | None) -> str:
    """Return a choice and its sizes, such as "tree below 65.5 kB" or "torus rows=2 from 65.5 kB on"."""
    name = describe_collective(choice.collective)
    if until is None:
        return f"{name} from {format_bytes(choice.from_bytes)} on" if choice.from_bytes else f"{name} for every size"
    return f"{name} below {format_bytes(until)}"
