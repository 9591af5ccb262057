"""The API on a free port of this process, a database to seed, and the command as a user calls it."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import uvicorn
from sqlalchemy import Engine

from api.app import create_app
from bigbatch.cli import main
from bigbatch.client import Client
from contract.settings import Settings
from migrations.commands import upgrade
from store.session import engine_for

SPEC = """
name: two rates
base:
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.05}
  batch: 64
  epochs: 2
axes:
  schedule.rate: [0.05, 0.1]
"""


class Site(NamedTuple):
    url: str
    home: Path
    engine: Engine


class Said(NamedTuple):
    code: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One service for all tests of this room; each looks at experiments of its own."""
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    upgrade(settings.database_url())
    with serving(settings) as url:
        yield Site(url, settings.home_folder(), engine_for(settings.database_url()))


class serving:  # noqa: N801 - used as a function
    """An API on a free port, in a thread."""

    def __init__(self, settings: Settings, port: int = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self._server = uvicorn.Server(uvicorn.Config(create_app(settings), log_level="warning"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def __enter__(self) -> str:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test may reach a service or a home of whoever runs it."""
    for name in ("URL", "TOKEN", "DATABASE", "BROKER", "RUNS", "DEBUG"):
        monkeypatch.delenv(f"BIGBATCH_{name}", raising=False)
    monkeypatch.setenv("BIGBATCH_HOME", str(tmp_path / "home"))


@pytest.fixture
def client(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setenv("BIGBATCH_URL", site.url)
    with Client() as client:
        yield client


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    """The command with its arguments, as the console script runs it."""

    def call(*arguments: object) -> Said:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Said(int(left.value.code or 0), out, err)

    return call


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC)
    return path
