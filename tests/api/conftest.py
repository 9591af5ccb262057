"""The API in this process, on a migrated SQLite database, and runs in it to read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import create_app
from contract.settings import Settings

SPEC = """
name: lars against sgd
base:
  optimizer: {kind: lars}
  schedule: {kind: polynomial, rate: 8.0}
  batch: 64
  epochs: 3
  resources: {kind: local, ranks_per_node: 4}
"""


@pytest.fixture
def settings(tmp_path: Path, sqlite_engine: Engine) -> Settings:
    return Settings(home=tmp_path, database=str(sqlite_engine.url))


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings), base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def post(client: TestClient, text: str | bytes, kind: str = "application/yaml") -> Any:
    """POST an experiment; return the answer."""
    return client.post("/api/v1/experiments", content=text, headers={"content-type": kind})
