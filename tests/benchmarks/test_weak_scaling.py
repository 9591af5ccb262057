"""The weak-scaling table: the published figures, and a model fitted to one of them."""

import pytest

from benchmarks.weak_scaling import GOOGLENET, VGG, efficiency, rate_of_first_doubling, sum_s, table


def test_published_efficiencies_are_ratios_of_the_published_seconds() -> None:
    published = [round(100 * share, 1) for share in GOOGLENET.published.values()]
    assert published == [100.0, 96.4, 95.3, 93.4, 94.0, 92.2, 91.6]


def test_the_model_matches_its_fitted_point_and_is_close_to_the_other_points() -> None:
    rate = rate_of_first_doubling(GOOGLENET)
    assert sum_s(GOOGLENET.size_bytes, 2, rate)[0] == pytest.approx((1590 - 1533) / 300, rel=1e-6)
    for row in table(GOOGLENET, rate):
        assert row["fitted"] == pytest.approx(GOOGLENET.published[row["cores"]], abs=0.02)
        assert row["fitted_tree"] <= row["fitted"] + 1e-3 <= row["aries"] + 2e-3


def test_the_prediction_for_the_other_net_is_close_to_the_published_figure() -> None:
    last = table(VGG, rate_of_first_doubling(GOOGLENET))[-1]
    assert last["cores"] == 4352
    assert last["fitted"] == pytest.approx(0.80, abs=0.02)


def test_efficiency_is_the_computation_share_of_an_iteration() -> None:
    assert efficiency(GOOGLENET, 1533 / 300) == 0.5
