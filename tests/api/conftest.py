"""The API in this process, on a migrated SQLite database, and runs in it to read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import create_app
from contract.settings import Settings
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN, post


@pytest.fixture
def settings(tmp_path: Path, sqlite_engine: Engine) -> Settings:
    return Settings(home=tmp_path, database=str(sqlite_engine.url), token=TOKEN)


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """A client with the token."""
    app = create_app(settings)
    with TestClient(
        app, base_url="http://localhost", headers=WITH_TOKEN, raise_server_exceptions=False, follow_redirects=False
    ) as client:
        yield client


@pytest.fixture
def both(tmp_path: Path, engine: Engine) -> Iterator[TestClient]:
    """The API on either database, with one experiment."""
    url = engine.url.render_as_string(hide_password=False)
    app = create_app(Settings(home=tmp_path, database=url, token=TOKEN))
    with TestClient(app, base_url="http://localhost", headers=WITH_TOKEN, raise_server_exceptions=False) as client:
        assert post(client, SPEC).status_code == 201
        yield client
