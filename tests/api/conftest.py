"""The API in this process, on a migrated SQLite database, and runs in it to read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import create_app
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.state import State
from contract.settings import Settings
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN, post
from tests.testing.stored_runs import TO_RUNNING, end_attempt, move


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


@pytest.fixture
def failed_run(client: TestClient, sqlite_engine: Engine, tmp_path: Path) -> RunFolder:
    """The folder of a run that failed in its first attempt, with a log of one line."""
    post(client, SPEC)
    with transaction(sqlite_engine) as db:
        run = db.get_one(Run, 1)
        for state in TO_RUNNING:
            move(db, run, state)
        end_attempt(db, run, ExitCause.FAILURE, None)
        move(db, run, State.FAILED)
    folder = RunFolder.of(tmp_path / "runs", 1, run.key)
    (folder.path / "attempts").mkdir(parents=True)
    folder.log.write_text("epoch 1\n")
    return folder
