"""Every operation by its method and its body: what a path does not allow, and what a request lacks, is told."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.http.methods import METHODS
from tests.testing.api import SPEC, post


def operations(client: TestClient) -> dict[str, dict[str, Any]]:
    return dict(client.get("/api/openapi.json").json()["paths"])


def test_a_path_of_words_allows_its_own_methods_alone(client: TestClient) -> None:
    """The words in /runs/names are no id of a run."""
    for path, found in operations(client).items():
        if "{" in path:
            continue
        own = {method.upper() for method in found} & {*METHODS}
        for method in {"OPTIONS", *METHODS} - own:
            answer = client.request(method, path)
            assert answer.status_code == 405, (method, path, answer.text)
            allowed = set(answer.headers["allow"].split(", "))
            assert allowed == own | ({"HEAD"} if "GET" in own else set()), (method, path)


@pytest.mark.parametrize("path", ["runs/seven", "runs/-7", "experiments/7x", "snapshots/abc", "runs/seven/log"])
def test_a_word_in_the_place_of_an_id_is_a_path_that_does_not_exist(client: TestClient, path: str) -> None:
    for method in ("GET", "PATCH", "DELETE", "OPTIONS"):
        answer = client.request(method, f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["detail"]) == (404, "Not Found"), method


def test_a_body_that_an_operation_needs_is_named_when_it_is_missing(client: TestClient) -> None:
    assert post(client, SPEC).status_code == 201
    checked = 0
    for path, found in operations(client).items():
        address = path.replace("{name}", "0" * 64)
        for name in ("experiment_id", "run_id", "report_id", "view_id", "target_id", "schedule_id", "block_id"):
            address = address.replace(f"{{{name}}}", "1")
        for method, operation in found.items():
            body = operation.get("requestBody")
            if not (body and body["required"]):
                continue
            assert client.request(method, address).status_code in (415, 422), (method, path)
            for kind in body["content"]:
                answer = client.request(method, address, headers={"content-type": kind})
                assert answer.status_code in (400, 422), (method, path, kind, answer.text)
                assert "the body is" in answer.json()["detail"], (method, path, kind, answer.text)
                checked += 1
    assert checked >= 20


def test_a_change_without_a_body_changes_nothing(client: TestClient) -> None:
    assert post(client, SPEC).status_code == 201
    before = client.get("/api/v1/experiments/1").json()
    assert client.patch("/api/v1/experiments/1").status_code == 200
    assert client.get("/api/v1/experiments/1").json() == before
