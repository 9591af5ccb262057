"""`bigbatch price`: predict the cost of every collective for one vector size and one network."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import print_json, print_table
from bigbatch.terminal.units import format_bytes, format_duration, parse_duration, parse_rate, parse_size
from contract.folder.auto_choice import CollectiveChoice
from contract.spec.choices.collectives import describe_collective

Size = Annotated[
    float, typer.Option("--bytes", parser=parse_size, metavar="SIZE", help="Size of the vector: 100MB, 16MiB.")
]
Hosts = Annotated[int, typer.Option(min=1, help="Number of hosts.")]
Ranks = Annotated[int, typer.Option(min=1, help="Number of ranks per host.")]
Link = Annotated[
    float, typer.Option("--rate", parser=parse_rate, metavar="RATE", help="Rate of a host's link: 10GB/s.")
]
Inside = Annotated[float, typer.Option(parser=parse_rate, metavar="RATE", help="Rate between ranks of a host: 5GB/s.")]
Latency = Annotated[float, typer.Option(parser=parse_duration, metavar="TIME", help="Latency between hosts: 20us.")]


def price(
    size_bytes: Size,
    hosts: Hosts,
    ranks_per_host: Ranks,
    link_rate: Link,
    *,
    inside_rate: Inside = "5GB/s",  # type: ignore[assignment]  # typer parses the default as well
    latency: Latency = "20us",  # type: ignore[assignment]
    as_json: Json = False,
) -> None:
    """Print the predicted cost of every collective on a network, the cheapest first."""
    network = {"rate": link_rate, "inside_rate": inside_rate, "latency_s": latency}
    with Client() as client:
        found = client.prices(size_bytes, hosts=hosts, ranks_per_host=ranks_per_host, network=network)
    if as_json:
        print_json(found)
        return
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
