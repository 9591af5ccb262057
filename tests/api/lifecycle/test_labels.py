"""Labels: names, notes, tags, owner and project, the search in them, and the archive."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.testing.api import SPEC, post


def patch(client: TestClient, path: str, **change: object) -> Any:
    answer = client.patch(f"/api/v1{path}", json=change)
    assert answer.status_code == 200, answer.text
    return answer.json()


def found(client: TestClient, **query: str) -> list[int]:
    return [one["id"] for one in client.get("/api/v1/experiments", params=query).json()["items"]]


@pytest.fixture
def three(both: TestClient) -> TestClient:
    """Three experiments: the first without labels, the others with some."""
    labels = "owner: ada\nproject: vision\ntags: [lars, baseline]\nnotes: see the paper\n"
    assert post(both, SPEC + labels).status_code == 201
    headers = {"Bigbatch-User": "grace", "content-type": "application/yaml"}
    assert both.post("/api/v1/experiments?origin=1", content=SPEC, headers=headers).status_code == 201
    return both


def test_an_experiment_has_the_labels_of_its_spec_and_the_client_s_user_as_owner(three: TestClient) -> None:
    second, third = (three.get(f"/api/v1/experiments/{number}").json() for number in (2, 3))
    assert (second["owner"], second["project"], second["tags"]) == ("ada", "vision", ["baseline", "lars"])
    assert (second["notes"], second["origin"]) == ("see the paper", None)
    assert (third["owner"], third["project"], third["tags"], third["origin"]) == ("grace", "", [], 1)
    answer = three.post("/api/v1/experiments?origin=99", json=second["spec"])
    assert (answer.status_code, answer.json()["detail"]) == (404, "there is no experiment 99")


def test_a_change_is_shown_and_the_spec_stays(three: TestClient) -> None:
    change: dict[str, object] = {"name": "new", "notes": "# Result", "owner": "alan", "project": "", "add_tags": ["b"]}
    shown = patch(three, "/experiments/2", **change, remove_tags=["lars", "absent"])
    assert shown == three.get("/api/v1/experiments/2").json()
    assert (shown["name"], shown["notes"], shown["owner"], shown["project"]) == ("new", "# Result", "alan", "")
    assert (shown["tags"], shown["spec"]["name"]) == (["b", "baseline"], "lars against sgd")
    assert patch(three, "/experiments/2", **change, remove_tags=["lars"]) == shown
    assert patch(three, "/experiments/2", tags=["only"])["tags"] == ["only"]
    assert patch(three, "/experiments/2") == patch(three, "/experiments/2", add_tags=["only"])


def test_labels_of_a_run(three: TestClient) -> None:
    assert patch(three, "/runs/2", notes="odd", add_tags=["look"])["tags"] == ["look"]
    run = three.get("/api/v1/runs/2").json()
    assert (run["notes"], run["tags"]) == ("odd", ["look"])
    assert [one["id"] for one in three.get("/api/v1/runs?tag=look").json()["items"]] == [2]
    assert three.get("/api/v1/experiments/2/runs").json()["items"][0]["tags"] == ["look"]
    assert patch(three, "/runs/2", tags=[])["tags"] == []


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "paper"}, [2]),
        ({"q": "basel"}, [2]),
        ({"q": "grace"}, [3]),
        ({"q": "visio"}, [2]),
        ({"q": "against"}, [3, 2, 1]),
        ({"q": "%"}, []),
        ({"tag": "lars"}, [2]),
        ({"tag": "lar"}, []),
        ({"owner": "ada", "project": "vision"}, [2]),
        ({"owner": ""}, [1]),
        ({"project": "vision", "owner": "grace"}, []),
    ],
)
def test_the_search_finds_labels(three: TestClient, query: dict[str, str], expected: list[int]) -> None:
    assert found(three, **query) == expected


def test_the_archive_hides_an_experiment_and_its_runs(three: TestClient) -> None:
    first = patch(three, "/experiments/2", archived=True)["archived_at"]
    assert first
    assert patch(three, "/experiments/2", archived=True)["archived_at"] == first
    assert (found(three), found(three, archived="true")) == ([3, 1], [2])
    patch(three, "/runs/3", archived=True)
    listed = {flag: three.get(f"/api/v1/runs?archived={flag}").json()["items"] for flag in ("false", "true")}
    assert {flag: [one["id"] for one in items] for flag, items in listed.items()} == {"false": [1], "true": [3, 2]}
    assert three.get("/api/v1/experiments/2").status_code == three.get("/api/v1/runs/2").status_code == 200
    assert patch(three, "/experiments/2", archived=False)["archived_at"] is None
    assert found(three) == [3, 2, 1]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    "change",
    [
        {"name": " "},
        {"name": "two\nlines"},
        {"tags": ["two words"]},
        {"tags": ["a,b"]},
        {"add_tags": [f"t{number}" for number in range(51)]},
        {"nam": "x"},
        {"archived": "yes"},
    ],
)
def test_a_wrong_change_is_refused(three: TestClient, change: dict[str, object]) -> None:
    before = three.get("/api/v1/experiments/2").json()
    assert three.patch("/api/v1/experiments/2", json=change).status_code == 422
    assert three.get("/api/v1/experiments/2").json() == before


def test_a_change_of_nothing_is_not_found(three: TestClient) -> None:
    assert three.patch("/api/v1/experiments/99", json={}).status_code == 404
    assert three.patch("/api/v1/runs/99", json={}).status_code == 404
    answer = three.patch("/api/v1/experiments/2", json={"add_tags": [f"t{number}" for number in range(49)]})
    assert answer.json()["errors"] == [{"path": "add_tags", "message": "51 tags are more than the limit of 50"}]
