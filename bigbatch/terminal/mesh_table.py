"""The table of the meshes on which the ranks share a GPT, and the sizes of a GPT as words."""

import typer

from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import print_table
from bigbatch.terminal.units import format_bytes, format_duration
from contract.api.collectives import TensorPriceList
from contract.spec.choices.tensor import describe_mesh

FLOAT_BYTES = 4
SIZES = ("width", "layers", "vocabulary", "context", "samples")


def parse_gpt(text: str) -> dict[str, int]:
    """Return the sizes of "width=1024,layers=24"; raise typer.BadParameter."""
    sizes = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name not in SIZES or not value.isdecimal():
            raise typer.BadParameter(f"{part!r} is not a size of a GPT: NAME=NUMBER with {', '.join(SIZES)}")
        sizes[name] = int(value)
    return sizes


def print_meshes(found: TensorPriceList) -> None:
    """Print the communication of a forward and a backward pass on each mesh."""
    rows = [
        (
            describe_mesh(one.kind, one.side),
            f"{one.collectives:,}",
            format_bytes(FLOAT_BYTES * one.words_per_rank),
            format_duration(one.seconds),
        )
        for one in found.prices
    ]
    print_table(("mesh", "collectives", "sent per rank", "time"), rows)
    print_message(f"the communication of a forward and a backward pass of one replica on {found.world:,} ranks")
