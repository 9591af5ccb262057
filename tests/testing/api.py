"""An experiment in YAML, and how tests of the API post one."""

from typing import Any

from fastapi.testclient import TestClient

TOKEN = "a-token-of-tests-with-enough-characters"
WITH_TOKEN = {"authorization": f"Bearer {TOKEN}"}
SPEC = """
name: lars against sgd
base:
  optimizer: {kind: lars}
  schedule: {kind: polynomial, rate: 8.0}
  batch: 64
  epochs: 3
  resources: {kind: local, ranks_per_node: 4}
"""


def post(client: TestClient, text: str | bytes, kind: str = "application/yaml", *, force: bool = False) -> Any:
    """POST an experiment; return the answer."""
    path = "/api/v1/experiments?force=true" if force else "/api/v1/experiments"
    return client.post(path, content=text, headers={"content-type": kind})


def target(answer: Any) -> str:
    """Return the path and the query that a redirect leads to, from the address that was asked for."""
    url = answer.url.join(answer.headers["location"])
    assert url.host == answer.url.host
    return str(url.raw_path.decode())
