"""The arithmetic of the throughput benchmark, and one real measurement on two ranks."""

import pytest
import torch

from benchmarks.throughput import benchmark as throughput
from benchmarks.throughput.roofline import classify, cost
from trainers.models.resnet import ResNet


@pytest.mark.ring("all")
def test_the_cost_of_resnet50_is_the_sum_over_its_layers() -> None:
    with torch.device("meta"):
        flops, traffic_bytes = cost(ResNet(3, 1000), 3, 224)
    # 4.09 G multiply-adds (the paper has 3.8 G with other strides) in three passes, without the gradient of the images
    assert flops == pytest.approx(3 * 2 * 4.09e9, rel=0.02)
    assert 2e8 < traffic_bytes < 5e8


def test_the_resource_that_a_step_uses_most_bounds_it() -> None:
    costs, peaks = (1e9, 1e8), (1e12, 1e12)
    assert classify(800, costs, peaks) == {"matmul_share": 0.8, "memory_share": 0.08, "bound": "matrix units"}
    assert classify(8000, (1e7, 1e8), peaks)["bound"] == "memory"
    assert str(classify(100, costs, peaks)["bound"]).startswith("neither")


def test_ratios_are_computed_per_round() -> None:
    seconds = {"ours": [1.0, 2.0, 4.0], "plain": [2.0, 2.0, 2.0], "plain fused": [1.0, 1.0, 1.0]}
    assert throughput.compare(seconds, batch=8) == {
        "ours_per_s": 4.0,
        "plain_per_s": 4.0,
        "ratio": 1.0,
        "ratio_to_fused": 0.5,
        "ratios": {"plain": [2.0, 1.0, 0.5], "plain fused": [1.0, 0.5, 0.25]},
    }


@pytest.mark.ring("all")
def test_a_net_is_measured_on_two_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "SPAN_S", 0.0)
    row = throughput.measure(throughput.spec("convnet", 2, *throughput.CASES["convnet"]), 2)
    assert row["device"] == "cpu"
    assert row["ours_per_s"] > 0
    assert {name: len(ratios) for name, ratios in row["ratios"].items()} == {"plain": 1, "plain fused": 1}
