"""The API on a free port of this process, a database to seed, and the command as a user calls it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bigbatch.cli import main
from bigbatch.client import Client
from contract.settings import Settings
from store.session import engine_for
from tests.testing.api import TOKEN
from tests.testing.command import SPEC, Call, CommandOutput, Site, serving
from tests.testing.databases import copy_sqlite


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Site]:
    """One service for all tests of this room; each looks at experiments of its own."""
    settings = Settings(home=tmp_path_factory.mktemp("home"), token=TOKEN)
    copy_sqlite(sqlite_template, settings.home_folder() / "bigbatch.db")
    with serving(settings) as url:
        yield Site(url, settings.home_folder(), engine_for(settings.database_url()))


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test may reach a service or a home of whoever runs it."""
    for name in ("URL", "PUBLIC_URL", "ROOT_PATH", "TOKEN", "DATABASE", "BROKER", "RUNS", "DEBUG"):
        monkeypatch.delenv(f"BIGBATCH_{name}", raising=False)
    monkeypatch.setenv("BIGBATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def client(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setenv("BIGBATCH_URL", site.url)
    monkeypatch.setenv("BIGBATCH_TOKEN", TOKEN)
    with Client() as client:
        yield client


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    """The command with its arguments, as the console script runs it."""

    def call(*arguments: object) -> CommandOutput:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return CommandOutput(int(left.value.code or 0), out, err)

    return call


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC)
    return path
