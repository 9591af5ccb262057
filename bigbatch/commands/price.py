"""`bigbatch price`: what every collective would cost for a vector, on a network you describe."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.submit import Json
from bigbatch.terminal.message import say
from bigbatch.terminal.output import print_json, print_table
from bigbatch.terminal.units import bytes_in_words, rate, seconds, size, time_in_words
from contract.folder.auto_choice import Choice
from contract.spec.choices.collectives import words

Size = Annotated[float, typer.Option("--bytes", parser=size, metavar="SIZE", help="Of the vector: 100MB, 16MiB.")]
Hosts = Annotated[int, typer.Option(min=1, help="How many hosts.")]
Ranks = Annotated[int, typer.Option(min=1, help="Ranks on each of them.")]
Link = Annotated[float, typer.Option("--rate", parser=rate, metavar="RATE", help="Of a host's link, each way: 10GB/s.")]
Inside = Annotated[float, typer.Option(parser=rate, metavar="RATE", help="Between ranks of one host: 5GB/s.")]
Latency = Annotated[float, typer.Option(parser=seconds, metavar="TIME", help="From host to host: 20us.")]


def price(
    size_bytes: Size,
    hosts: Hosts,
    ranks_per_host: Ranks,
    link_rate: Link,
    *,
    inside_rate: Inside = "5GB/s",  # type: ignore[assignment]  # defaults go through the parser too
    latency: Latency = "20us",  # type: ignore[assignment]
    as_json: Json = False,
) -> None:
    """Price every collective on a network, the cheapest first."""
    network = {"rate": link_rate, "inside_rate": inside_rate, "latency_s": latency}
    with Client() as client:
        found = client.prices(size_bytes, hosts=hosts, ranks_per_host=ranks_per_host, network=network)
    if as_json:
        print_json(found)
        return
    rows = [
        (
            words(one.collective),
            f"{one.rounds:,}",
            str(one.segments),
            bytes_in_words(one.link_bytes),
            time_in_words(one.seconds),
            f"{one.times_bound:.2f}" if one.times_bound else "-",
        )
        for one in found.prices
    ]
    print_table(("collective", "rounds", "segments", "busiest link", "time", "x bound"), rows)
    starts = [*(choice.from_bytes for choice in found.auto[1:]), None]
    spans = zip(found.auto, starts, strict=True)
    say("auto would take " + ", ".join(_span(choice, until) for choice, until in spans))
    say(f"{found.world:,} ranks, {bytes_in_words(size_bytes)}; the bound is {time_in_words(found.bound_s)}")


def _span(choice: Choice, until: int | None) -> str:
    """A choice and its sizes: "tree below 65.5 kB", "torus rows=2 from 65.5 kB on"."""
    name = words(choice.collective)
    if until is None:
        return f"{name} from {bytes_in_words(choice.from_bytes)} on" if choice.from_bytes else f"{name} for every size"
    return f"{name} below {bytes_in_words(until)}"
