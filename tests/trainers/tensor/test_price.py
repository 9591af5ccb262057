"""The price of a pass on a mesh has the time of its calls, and the bursts of links that rest between the calls."""

import pytest

from trainers.collectives.layout import hosts_of
from trainers.collectives.pricing.network import Network
from trainers.tensor.calls import Sizes, calls_of_pass
from trainers.tensor.mesh import Shape
from trainers.tensor.price import price_pass

SIZES = Sizes(samples=64, context=64, width=256, layers=1, vocabulary=256)
RATE = 25e6
SHAPES = [Shape("one_d", 4), Shape("two_d", 2)]


def network(burst_bytes: float = 0.0) -> Network:
    return Network(hosts=hosts_of(4, 4), rate=RATE, latency_s=0.0, message_s=0.0, burst_bytes=burst_bytes)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_call_takes_its_own_time_beside_its_messages(shape: Shape) -> None:
    without, with_calls = (price_pass(shape, SIZES, network(), call_s=call_s) for call_s in (0.0, 0.001))
    assert with_calls.collectives == sum(call.count for call in calls_of_pass(shape, SIZES))
    assert with_calls.seconds - without.seconds == pytest.approx(0.001 * with_calls.collectives)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_burst_spares_every_call_its_bytes_but_not_more_than_the_call_has_on_a_link(shape: Shape) -> None:
    burst_bytes, shares = 65536.0, {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0}
    n = shape.side
    spared_bytes = 0.0
    for call in calls_of_pass(shape, SIZES):
        on_link = 4 * call.words * (shares[call.operation] * (n - 1) / n if call.operation in shares else 1.0)
        spared_bytes += call.count * min(on_link, burst_bytes)
    without, with_burst = (price_pass(shape, SIZES, network(burst)) for burst in (0.0, burst_bytes))
    assert without.seconds - with_burst.seconds == pytest.approx(spared_bytes / RATE)


def test_the_square_leaves_its_links_idle_for_half_of_the_time_and_the_line_does_not() -> None:
    """At 4 ranks 2-D sends fewer words than 1-D and takes longer: in each round one link of two sends."""
    line, square = (price_pass(shape, SIZES, network()) for shape in SHAPES)
    assert square.words_per_rank < line.words_per_rank
    assert square.seconds > 1.3 * line.seconds
    assert line.seconds == pytest.approx(4 * line.words_per_rank / RATE, rel=0.05)
    assert square.seconds == pytest.approx(2 * 4 * square.words_per_rank / RATE, rel=0.05)
