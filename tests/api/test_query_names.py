"""Query parameters that an operation does not have are refused by name, in all operations."""

import re

import pytest
from fastapi.testclient import TestClient


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/api/v1/runs?name=loss", "it has archived, before, limit, metric, q, since, sort, state, tag"),
        ("GET", "/api/v1/experiments?stat=done", "did you mean 'state'?"),
        ("HEAD", "/api/v1/experiments?stat=done", ""),
        ("GET", "/api/v1/health?x=1", "it has none"),
        ("GET", "/metrics?x=1", "it has none"),
        ("GET", "/api/v1/collectives/plan?kind=ring&host=3", "did you mean 'hosts'?"),
        ("POST", "/api/v1/runs/1/stop?force=true", "it has none"),
        ("POST", "/api/v1/experiments?dryrun=true", "did you mean 'dry_run'?"),
        ("DELETE", "/api/v1/experiments/1?confrim=x", "did you mean 'confirm'?"),
    ],
)
def test_an_unknown_parameter_is_refused_by_name(client: TestClient, method: str, path: str, message: str) -> None:
    answer = client.request(method, path)
    assert answer.status_code == 422
    if method != "HEAD":
        (issue,) = answer.json()["errors"]
        assert issue["message"].endswith(message)
        assert f"{issue['path']}=" in path


@pytest.mark.ring("all")
@pytest.mark.parametrize("path", ["/experiments/1?tab=loss", "/sign-in?next=/", "/api/v1/runs?sort=id&limit=3"])
def test_known_parameters_and_those_of_pages_are_accepted(client: TestClient, path: str) -> None:
    assert client.get(path).status_code != 422


@pytest.mark.ring("all")
def test_the_known_parameters_of_every_operation_are_those_of_the_openapi_document(client: TestClient) -> None:
    document = client.get("/api/openapi.json").json()
    operations = [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    assert len(operations) > 80
    for method, path, operation in operations:
        names = sorted(one["name"] for one in operation.get("parameters", []) if one["in"] == "query")
        url = re.sub(r"\{\w+\}", "1", path)
        (issue,) = client.request(method, f"{url}?9876=1").json()["errors"]
        assert issue["message"].endswith(f"it has {', '.join(names) or 'none'}"), (method, path)
