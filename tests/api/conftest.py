"""The API in this process, on a migrated SQLite database, and runs in it to read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import create_app
from contract.settings import Settings


@pytest.fixture
def settings(tmp_path: Path, sqlite_engine: Engine) -> Settings:
    return Settings(home=tmp_path, database=str(sqlite_engine.url))


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings), base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client
