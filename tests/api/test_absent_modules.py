"""Modules of the user's own parts that the service's Python lacks."""

from fastapi.testclient import TestClient

from tests.testing.api import SPEC, post


def test_an_absent_module_of_several_parts_is_named_once(client: TestClient) -> None:
    own = "{kind: import, function: 'nosuchmodule_xyz:make'}"
    refused = post(client, SPEC + f"  model: {own}\n  loss: {own}\n  metrics: {{top: {own}}}\n")
    assert [error["path"] for error in refused.json()["errors"]] == ["base.model.function"]
