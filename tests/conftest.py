"""Fixtures that more than one room's tests use: databases and brokers, embedded and for teams."""

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from contract.spec.experiment import ExperimentSpec
from migrations.commands import upgrade
from store.session import engine_for
from tests.testing import servers
from tests.testing.needs import require

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with servers.postgres() as url:
        yield url


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="session")
def lab() -> Iterator[dict[str, str]]:
    """The Slurm lab; yields the environment that its commands need. A lab that was up before stays up."""
    from lab.requirements import missing

    require(missing())
    command = [sys.executable, "-m", "lab"]
    was_up = subprocess.run([*command, "status"], capture_output=True).returncode == 0
    subprocess.run([*command, "up"], check=True)
    told = subprocess.run([*command, "env"], check=True, capture_output=True, text=True).stdout
    lines = [line.removeprefix("export ").split("=", 1) for line in told.splitlines() if line.startswith("export ")]
    yield {name: value.strip("'\"") for name, value in lines}
    if not was_up:
        subprocess.run([*command, "down"], check=True)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without tables, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"
    return servers.new_database(request.getfixturevalue("postgres_server"), f"test{next(_numbers)}")


@pytest.fixture
def engine(empty_database: str) -> Iterator[Engine]:
    """A migrated database of either kind."""
    upgrade(empty_database)
    engine = engine_for(empty_database)
    yield engine
    engine.dispose()


@pytest.fixture
def sqlite_engine(tmp_path: Path) -> Iterator[Engine]:
    """A migrated SQLite database, where the kind does not matter."""
    url = f"sqlite:///{tmp_path / 'bigbatch.db'}"
    upgrade(url)
    engine = engine_for(url)
    yield engine
    engine.dispose()


Experiment = Callable[..., ExperimentSpec]


@pytest.fixture
def experiment() -> Experiment:
    """Make an experiment on two local ranks; keyword arguments replace fields of its base."""

    def make(axes: dict[str, list[object]] | None = None, **base: object) -> ExperimentSpec:
        small = {
            "optimizer": {"kind": "sgd"},
            "schedule": {"kind": "constant", "rate": 0.05},
            "batch": 64,
            "epochs": 2,
            "resources": {"kind": "local", "ranks_per_node": 2},
        }
        return ExperimentSpec.model_validate({"name": "test", "base": {**small, **base}, "axes": axes or {}})

    return make
