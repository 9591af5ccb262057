"""Tables of prices: the meshes on which the ranks share a GPT, and a step with K-FAC; the sizes of a GPT as words."""

import typer

from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import print_table
from bigbatch.terminal.units import format_bytes, format_duration
from contract.api.collectives import TensorPriceList
from contract.api.planning.kfac import KFACPriceView
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


def print_kfac_price(cost: KFACPriceView) -> None:
    """Print the parts of a step, the numbers sent, and when K-FAC pays."""
    rows = [
        ("forward and backward", cost.compute_s),
        ("sum of the gradients", cost.gradient_sum_s),
        ("factors", cost.factors_s),
        ("sum of the factors", cost.factor_sum_s),
        ("inverses", cost.inverses_s),
        ("exchange of the inverses", cost.inverse_gather_s),
        ("products with the inverses", cost.precondition_s),
        ("exchange of the results", cost.gradient_gather_s),
    ]
    print_table(("part of a step", "time"), [(part, format_duration(seconds)) for part, seconds in rows])
    words = cost.words
    print_message(
        f"an update of the factors sums {words.factors:,} numbers; a rank sends {words.inverses:,} at an update of the "
        f"inverses, and {words.gradients:,} more at every step"
    )
    print_message(
        f"{cost.world:,} ranks: a step takes {format_duration(cost.plain_s)} without K-FAC and {cost.ratio:.2f} times "
        f"that with it, so it pays where it needs less than {cost.pays_below:.0%} of the epochs"
    )
