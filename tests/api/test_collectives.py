"""Tests of the predicted costs and the plans of collectives."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from api import collectives
from trainers.collectives.plan import Send
from trainers.collectives.verify import verify_operation, verify_plan
from trainers.tensor.calls import Sizes, words_of_pass
from trainers.tensor.mesh import Shape

ASK = {"bytes": 16 << 20, "hosts": 2, "ranks_per_host": 4, "rate": 25e6}


def prices(client: TestClient, **ask: Any) -> Any:
    return client.get("/api/v1/collectives/price", params={**ASK, **ask})


def plan(client: TestClient, kind: str, **ask: Any) -> Any:
    return client.get("/api/v1/collectives/plan", params={"kind": kind, **ask})


def test_prices_come_cheapest_first_beside_the_bound(client: TestClient) -> None:
    result = prices(client).json()
    seconds = [price["seconds"] for price in result["prices"]]
    assert seconds == sorted(seconds)
    assert result["world"] == 8
    assert result["bound_s"] == pytest.approx(0.671, abs=0.001)
    assert result["prices"][0]["times_bound"] < 1.02
    torus = next(price for price in result["prices"] if price["collective"].get("rows") == 2)
    assert torus["link_bytes"] == ASK["bytes"]
    assert torus["rounds"] == 8


def test_one_rank_alone_pays_nothing_and_has_no_bound(client: TestClient) -> None:
    result = prices(client, hosts=1, ranks_per_host=1).json()
    assert {(price["seconds"], price["times_bound"]) for price in result["prices"]} == {(0.0, None)}


def test_a_slower_network_costs_more(client: TestClient) -> None:
    fast, slow = (prices(client, latency_s=latency_s).json()["prices"][0]["seconds"] for latency_s in (0, 0.01))
    assert fast < slow


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("ask", "path", "complaint"),
    [
        (
            {"hosts": 4096, "ranks_per_host": 2},
            "ranks_per_host",
            "4096 x 2 = 8,192 ranks, more than the limit of 4,096",
        ),
        ({"rate": 0}, "rate", "input should be greater than or equal to 1"),
        ({"bytes": "inf"}, "bytes", "input should be"),
        ({"hosts": 0}, "hosts", "input should be greater than or equal to 1"),
    ],
)
def test_an_impossible_network_is_refused(client: TestClient, ask: dict[str, Any], path: str, complaint: str) -> None:
    answer = prices(client, **ask)
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["path"] == path
    assert fault["message"].startswith(complaint)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("ring", {}),
        ("torus", {}),
        ("torus", {"rows": 4}),
        ("tree", {}),
        ("colors", {"k": 3}),
        ("hierarchical", {}),
        ("halving_doubling", {}),
        ("server", {"servers": 8}),
    ],
)
def test_a_plan_that_is_told_is_a_plan_that_sums(client: TestClient, kind: str, shape: dict[str, int]) -> None:
    result = plan(client, kind, hosts=2, ranks_per_host=4, **shape).json()
    rounds = [
        [
            Send(src, dst, range(start, start + size), add)
            for src, dst, start, size, add in zip(*(sends[name] for name in COLUMNS), strict=True)
        ]
        for sends in result["rounds"]
    ]
    verify_plan(rounds, world=8, chunks=result["chunks"])
    assert result["hosts"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert result["collective"]["kind"] == kind


COLUMNS = ("src", "dst", "start", "size", "add")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("ask", "path", "complaint"),
    [
        ({"kind": "torus", "rows": 3}, "rows", "8 ranks do not form a torus of 3 rows"),
        ({"kind": "colors", "k": 9}, "k", "9 colors need at least 9 ranks, but the run has 8"),
        ({"kind": "ring", "rows": 2}, "rows", "unknown field"),
        ({"kind": "server", "servers": 0}, "servers", "input should be greater than or equal to 1"),
        ({"kind": "native"}, "kind", "input should be 'ring', 'torus'"),
        (
            {"kind": "ring", "hosts": 65, "ranks_per_host": 1},
            "ranks_per_host",
            "65 x 1 = 65 ranks, more than the limit of 64",
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused(client: TestClient, ask: dict[str, Any], path: str, complaint: str) -> None:
    answer = plan(client, **ask)
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["path"] == path
    assert fault["message"].startswith(complaint)


def test_what_auto_would_take_covers_every_size_and_is_the_cheapest_there(client: TestClient) -> None:
    taken = prices(client).json()["auto"]
    assert taken[0]["from_bytes"] == 0
    assert len(taken) > 1
    for choice, following in zip(taken, [*taken[1:], None], strict=True):
        assert following is None or following["from_bytes"] > choice["from_bytes"]
    for bits in range(1, 33):
        middle = 3 << bits >> 2  # of a size class
        cheapest = prices(client, bytes=middle).json()["prices"][0]
        choice = next(one for one in reversed(taken) if one["from_bytes"] <= middle)
        assert cheapest["collective"] == choice["collective"], middle


def test_one_evaluation_runs_at_a_time_and_known_prices_need_none(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces an evaluation that does not end: requests with other rates get 503, evaluated ones their prices."""
    monkeypatch.setattr(collectives, "EVALUATION_WAIT_S", 0.01)
    known = prices(client, rate=31e6)
    with collectives._evaluation:
        refused = prices(client, rate=32e6)
        assert (refused.status_code, refused.json()["code"]) == (503, "busy")
        assert prices(client, rate=31e6).json() == known.json()
    assert prices(client, rate=32e6).status_code == 200


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("all_gather", "ring"),
        ("all_gather", "halving_doubling"),
        ("reduce_scatter", "ring"),
        ("broadcast", "tree"),
        ("reduce", "tree"),
    ],
)
def test_the_plan_of_another_operation_does_what_it_promises(client: TestClient, operation: Any, kind: str) -> None:
    answer = plan(client, kind, operation=operation, hosts=2, ranks_per_host=4).json()
    assert answer["operation"] == operation
    rounds = [
        [Send(src, dst, range(start, start + size), add) for src, dst, start, size, add in zip(*columns, strict=True)]
        for columns in ([of[name] for name in ("src", "dst", "start", "size", "add")] for of in answer["rounds"])
    ]
    verify_operation(rounds, operation, ranks=range(8), chunks=answer["chunks"])


def test_an_operation_without_a_plan_of_the_kind_names_those_that_it_has(client: TestClient) -> None:
    answer = plan(client, "halving_doubling", operation="all_gather", hosts=1, ranks_per_host=6)
    assert answer.status_code == 422
    assert "all_gather among 6 ranks has no plan of the kind halving_doubling: use ring" in answer.text


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("operation", "kinds", "bound_share"),
    [
        ("all_gather", {"ring", "halving_doubling"}, 1 / 2),
        ("reduce_scatter", {"ring", "halving_doubling"}, 1 / 2),
        ("broadcast", {"tree"}, 1),
        ("reduce", {"tree"}, 1),
    ],
)
def test_every_plan_of_another_operation_has_a_price_over_its_own_bound(
    client: TestClient, operation: str, kinds: set[str], bound_share: float
) -> None:
    result = prices(client, operation=operation).json()
    assert (result["operation"], result["auto"]) == (operation, [])
    assert result["bound_s"] == pytest.approx(bound_share * ASK["bytes"] / ASK["rate"])  # of two hosts
    assert {one["collective"]["kind"] for one in result["prices"]} == kinds
    assert all(one["times_bound"] >= 1 for one in result["prices"])
    drawn = {
        one["collective"]["kind"]: plan(
            client, one["collective"]["kind"], operation=operation, hosts=2, ranks_per_host=4
        ).json()
        for one in result["prices"]
    }
    assert all(len(drawn[one["collective"]["kind"]]["rounds"]) == one["rounds"] for one in result["prices"])


def test_an_all_gather_and_a_reduce_scatter_cost_at_least_one_all_reduce(client: TestClient) -> None:
    seconds = {
        operation: prices(client, operation=operation, add_rate=1e15).json()["prices"][0]["seconds"]
        for operation in ("all_gather", "reduce_scatter")
    }
    assert seconds["all_gather"] == pytest.approx(seconds["reduce_scatter"], rel=1e-3)
    assert sum(seconds.values()) >= 0.999 * prices(client, add_rate=1e15).json()["prices"][0]["seconds"]


SIZES = {"width": 1024, "layers": 2, "context": 128, "samples": 64, "rate": 25e6, "latency_s": 0}


def test_tensor_parallelism_is_priced_on_every_mesh_of_the_ranks_the_cheapest_first(client: TestClient) -> None:
    ask = {"hosts": 16, "ranks_per_host": 4, **SIZES}
    answer = client.get("/api/v1/collectives/tensor-price", params=ask).json()
    assert answer["world"] == 64
    found = {one["kind"]: one for one in answer["prices"]}
    assert {kind: one["side"] for kind, one in found.items()} == {"three_d": 4, "two_d": 8, "one_d": 64}
    assert answer["prices"][0]["kind"] == "three_d"
    seconds = [one["seconds"] for one in answer["prices"]]
    assert seconds == sorted(seconds)
    sizes = Sizes(samples=64, context=128, width=1024, layers=2, vocabulary=256)
    for kind, one in found.items():
        assert one["words_per_rank"] * 64 == words_of_pass(Shape(kind, one["side"]), sizes)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("hosts", "ranks", "kinds"), [(1, 8, {"one_d", "three_d"}), (2, 3, {"one_d"}), (1, 1, set())])
def test_only_squares_and_cubes_of_ranks_are_squares_and_cubes(
    client: TestClient, hosts: int, ranks: int, kinds: set[str]
) -> None:
    ask = {"hosts": hosts, "ranks_per_host": ranks, **SIZES}
    answer = client.get("/api/v1/collectives/tensor-price", params=ask).json()
    assert {one["kind"] for one in answer["prices"]} == kinds


def test_a_mesh_of_too_many_ranks_is_refused_with_the_sum(client: TestClient) -> None:
    ask = {"hosts": 64, "ranks_per_host": 16, **SIZES}
    answer = client.get("/api/v1/collectives/tensor-price", params=ask)
    assert answer.status_code == 422
    assert "64 x 16 = 1,024 ranks, more than the limit of 128" in answer.text
