"""The table of a step with K-FAC."""

from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import print_table
from bigbatch.terminal.units import format_duration
from contract.api.planning.kfac import KFACPriceView


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
