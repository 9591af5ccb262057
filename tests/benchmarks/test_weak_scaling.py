"""The weak-scaling table: the published figures as they are, and a model that was fitted at one of them alone."""

import pytest

from benchmarks.weak_scaling import GOOGLENET, VGG, efficiency, rate_of_first_doubling, sum_s, table


def test_published_efficiencies_are_the_published_seconds_ratios() -> None:
    told = [round(100 * share, 1) for share in GOOGLENET.published.values()]
    assert told == [100.0, 96.4, 95.3, 93.4, 94.0, 92.2, 91.6]


def test_the_model_meets_the_doubling_that_it_was_fitted_at_and_comes_near_the_others() -> None:
    rate = rate_of_first_doubling(GOOGLENET)
    assert sum_s(GOOGLENET.size_bytes, 2, rate)[0] == pytest.approx((1590 - 1533) / 300, rel=1e-6)
    for row in table(GOOGLENET, rate):
        assert row["fitted"] == pytest.approx(GOOGLENET.published[row["cores"]], abs=0.02)
        assert row["fitted_tree"] <= row["fitted"] + 1e-3 <= row["aries"] + 2e-3


def test_what_it_says_of_the_other_net_is_no_fit_and_is_what_was_seen() -> None:
    last = table(VGG, rate_of_first_doubling(GOOGLENET))[-1]
    assert last["cores"] == 4352
    assert last["fitted"] == pytest.approx(0.80, abs=0.02)


def test_efficiency_is_the_share_of_an_iteration_that_is_not_the_sum() -> None:
    assert efficiency(GOOGLENET, 1533 / 300) == 0.5
