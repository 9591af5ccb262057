"""GET /kfac/price: the parts of a step add up, and the words are those of the formula."""

import pytest
from fastapi.testclient import TestClient

from contract.spec.choices.models import ResNet
from trainers.layer_shapes import layer_shapes
from trainers.preconditioners.shapes import total_factor_words

PATH = "/api/v1/kfac/price"
ASK = {"model": "resnet50", "hosts": 4, "ranks_per_host": 2, "rate": 25e6}


def test_the_price_has_the_words_and_the_break_even(client: TestClient) -> None:
    found = client.get(PATH, params=ASK).json()
    blocks = [each.block for each in layer_shapes(ResNet(kind="resnet50"), channels=3, pixels=224, classes=1000)]
    assert found["words"]["factors"] == total_factor_words(blocks)
    assert found["words"]["gradients"] == found["gradient_gather_s"] == 0
    own = ("factors_s", "factor_sum_s", "inverses_s", "inverse_gather_s", "precondition_s", "gradient_gather_s")
    assert found["ratio"] == pytest.approx(1 + sum(found[part] for part in own) / found["plain_s"])
    assert found["plain_s"] == found["compute_s"] + found["gradient_sum_s"]
    assert found["pays_below"] == 1 / found["ratio"]


def test_rarer_updates_cost_less_and_layer_wise_sends_at_every_step(client: TestClient) -> None:
    often, rare = (client.get(PATH, params=ASK | {"factor_every": k, "inverse_every": 10 * k}).json() for k in (1, 100))
    assert often["ratio"] > rare["ratio"] > 1
    layer_wise = client.get(PATH, params=ASK | {"fraction": 0.0}).json()
    assert layer_wise["words"]["gradients"] > 0 == layer_wise["words"]["inverses"]
    assert layer_wise["precondition_s"] < rare["precondition_s"]


def test_one_rank_sends_nothing(client: TestClient) -> None:
    found = client.get(PATH, params={"model": "convnet", "pixels": 64, "hosts": 1, "ranks_per_host": 1}).json()
    assert found["gradient_sum_s"] == found["inverse_gather_s"] == 0


def test_an_unknown_net_and_too_many_ranks_are_refused(client: TestClient) -> None:
    for wrong in ({"model": "gnmt"}, {"hosts": 4096, "ranks_per_host": 2}, {"pixels": 8}):
        assert client.get(PATH, params=ASK | wrong).status_code == 422


def test_the_price_needs_the_token(client: TestClient) -> None:
    assert client.get(PATH, params=ASK, headers={"authorization": ""}).status_code == 401
