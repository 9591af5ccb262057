"""The benchmark of meshes counts the calls that the formulas have, and splits their seconds into messages and bytes."""

from typing import Any

import pytest

from benchmarks.tensor.meshes import measure_passes
from benchmarks.tensor.split import fit_lines, split_pass
from contract.spec.choices.tensor import OneD, TwoD
from trainers.build.tensor import shape_of
from trainers.tensor.calls import Sizes, calls_of_pass

RATE, BURST = 25e6, 65536.0
NETWORK = {"rate": RATE, "burst_bytes": BURST}
TINY = {"samples": 4, "context": 8, "width": 32, "layers": 1, "vocabulary": 256}


def a_call(operation: str, ranks: int, size_bytes: int, seconds: float) -> dict[str, Any]:
    return {"operation": operation, "ranks": ranks, "size_bytes": size_bytes, "seconds": seconds}


def test_the_calls_of_a_line_are_split_into_a_and_b_of_their_line() -> None:
    sizes = [1 << 10, 1 << 16, 1 << 20, 1 << 22]
    calls = [a_call("all_reduce", 4, size, 0.002 + max(1.5 * size - BURST, 0) / RATE) for size in sizes]
    lines = fit_lines(calls, BURST)
    assert lines["all_reduce among 4"] == pytest.approx((0.002, 1 / RATE))
    sent = sum(1.5 * size for size in sizes)
    split = split_pass(calls, lines, bytes_per_rank=sent, network=NETWORK)
    assert split["calls"] == 4
    assert split["messages_s"] == pytest.approx(4 * 0.002)
    assert split["messages_s"] + split["bytes_s"] == pytest.approx(split["measured_s"])
    assert split["link_times"] == pytest.approx(1, abs=0.05)  # but for the bursts


def test_broadcasts_after_each_other_take_twice_what_the_sent_bytes_need() -> None:
    sizes = [1 << 20, 1 << 22, 1 << 23]
    calls = [a_call("broadcast", 2, size, 0.001 + (size - BURST) / RATE) for size in sizes]
    split = split_pass(calls, fit_lines(calls, BURST), bytes_per_rank=sum(sizes) / 2, network=NETWORK)
    assert split["link_times"] == pytest.approx(2, abs=0.05)


def test_a_line_never_has_a_negative_part() -> None:
    falling = [a_call("reduce", 2, size, seconds) for size, seconds in ((1 << 20, 0.02), (1 << 22, 0.01))]
    a, b = fit_lines(falling, 0.0)["reduce among 2"]
    assert a > 0
    assert b == 0
    steep = [a_call("reduce", 2, size, seconds) for size, seconds in ((1 << 20, 0.001), (1 << 21, 0.01))]
    a, b = fit_lines(steep, 0.0)["reduce among 2"]
    assert a == 0
    assert b > 0


@pytest.mark.ring("all")
@pytest.mark.parametrize("mesh", [OneD(ranks=2), TwoD(q=2)], ids=["line", "square"])
def test_processes_make_the_calls_of_the_formulas(mesh: OneD | TwoD) -> None:
    found = measure_passes(f"here{mesh.size}", mesh, [TINY], repeats=1)
    (one,) = found["passes"]
    expected = sorted(
        (call.operation, 4 * call.words)
        for call in calls_of_pass(shape_of(mesh), Sizes(**TINY))
        for _ in range(call.count)
    )
    assert sorted((call["operation"], call["size_bytes"]) for call in one["calls"]) == expected
    assert one["transfer_s"] >= one["fastest_transfer_s"] > 0
    assert one["priced_s"] > 0
    assert found["network"]["message_s"] > 0
