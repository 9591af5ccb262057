"""Tests of the predicted costs and the plans of collectives."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from api import collectives
from trainers.collectives.plan import Send
from trainers.collectives.verify import verify_plan

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
        middle = choice["from_bytes"] * 1.5 or 1
        cheapest_by_size = prices(client, bytes=middle).json()["prices"][0]
        assert cheapest_by_size["collective"] == choice["collective"]


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
