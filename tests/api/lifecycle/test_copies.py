"""The documents by which experiments and runs are submitted again: a browser passes them on as texts."""

from typing import Any

from fastapi.testclient import TestClient

from tests.testing.api import post

# JavaScript would round the integer, write 1.0 as 1, and 1e21 otherwise
PROGRAM = """
name: exact
description: numbers
tags: [baseline]
base:
  kind: program
  command: echo {seed} {lr} {sha}
  launcher: plain
  parameters: {seed: 9007199254740993, lr: 1.0, sha: "25921e05", none: null, deep: {steps: [1, 1.0, 1e21, "08"]}}
axes:
  parameters.beta: [1, 0.5, 2.0]
"""


def created(client: TestClient, text: str, **query: Any) -> dict[str, Any]:
    answer = post(client, text, **query)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def get(client: TestClient, path: str) -> Any:
    answer = client.get(f"/api/v1{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def differences(client: TestClient, first: int, second: int) -> list[Any]:
    found: list[Any] = get(client, f"/runs/{first}/differences?other={second}")["spec"]
    return found


def test_a_copy_of_an_experiment_has_the_same_runs_to_the_type_of_each_number(client: TestClient) -> None:
    first = created(client, PROGRAM)
    changed = client.patch(f"/api/v1/experiments/{first['id']}", json={"name": "exact, again", "notes": "why"})
    assert changed.status_code == 200
    second = created(client, get(client, f"/experiments/{first['id']}/document")["text"])
    assert [differences(client, *pair) for pair in zip(first["runs"], second["runs"], strict=True)] == [[]] * 3
    found = get(client, f"/experiments/{second['id']}")
    assert (found["name"], found["notes"], found["tags"]) == ("exact, again", "why", ["baseline"])
    text = client.get(f"/api/v1/runs/{second['runs'][2]}").text
    assert '"seed":9007199254740993,"lr":1.0,' in text
    assert '"beta":2.0' in text


def test_a_copy_of_a_run_is_the_same_run(client: TestClient) -> None:
    first = created(client, PROGRAM)
    run_id = first["runs"][2]
    second = created(client, get(client, f"/runs/{run_id}/document")["text"])
    assert differences(client, run_id, second["runs"][0]) == []
    assert get(client, f"/experiments/{second['id']}")["name"] == f"exact, run {run_id}"


def test_the_name_of_a_copy_of_a_run_is_never_too_long(client: TestClient) -> None:
    run_id = created(client, PROGRAM.replace("name: exact", f"name: {'x' * 200}"))["runs"][0]
    text = get(client, f"/runs/{run_id}/document")["text"]
    assert len(get(client, f"/experiments/{created(client, text)['id']}")["name"]) == 200


def test_the_points_outside_the_grid_of_another_experiment_are_added_as_they_are(client: TestClient) -> None:
    first, second = created(client, PROGRAM), created(client, PROGRAM)
    point = {"parameters.seed": 9007199254740995, "parameters.lr": 2.0}
    added = client.post(f"/api/v1/experiments/{first['id']}/points", json={"points": [point]}).json()
    copied = client.post(f"/api/v1/experiments/{second['id']}/points", json={"like": first["id"]})
    assert copied.status_code == 200, copied.text
    assert differences(client, added["runs"][0], copied.json()["runs"][0]) == []
    assert client.post(f"/api/v1/experiments/{second['id']}/points", json={"like": 99}).status_code == 404


def test_a_difference_of_types_is_a_difference(client: TestClient) -> None:
    first, second = (created(client, PROGRAM.replace("lr: 1.0", f"lr: {lr}"))["runs"][0] for lr in ("1.0", "1"))
    found = client.get(f"/api/v1/runs/{first}/differences?other={second}").text
    assert '{"path":"parameters.lr","first":1.0,"second":1}' in found


def test_what_is_not_there_and_what_was_carried_out_elsewhere_has_no_document(client: TestClient) -> None:
    assert client.get("/api/v1/experiments/99/document").status_code == 404
    assert client.get("/api/v1/runs/99/document").status_code == 404
