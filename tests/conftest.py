"""Fixtures that more than one room's tests use: databases and brokers, embedded and for teams."""

import gc
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import Engine

from store.session import engine_for
from tests.testing import servers
from tests.testing.databases import copy_sqlite, drop_database, migrate_template, new_database
from tests.testing.lab_lock import lab_lock
from tests.testing.needs import require
from tests.testing.specs import Experiment, small_experiment

pytest_plugins = ["tests.gate.recorder"]
_numbers = itertools.count()
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("random", derandomize=False, deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """Give property tests a fixed seed, unless all tests run: a gate that fails must fail again."""
    settings.load_profile("random" if config.getoption("--ring") == "all" else "fixed")


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from the objects of thousands of collected tests: they are never garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group what several processes cannot share, for `--dist loadgroup`; what takes longest comes first."""
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=_order)


def _order(item: pytest.Item) -> int:
    """Return when a test begins: the lab, the browser and what starts whole services take minutes, other files seconds.

    A process gets its next group when two tests of its last one are left, so a long group at the end would run alone.
    """
    return {"lab": 0, "browser": 1}.get(_group(item), 2 if item.get_closest_marker("flow") else 3)


def _group(item: pytest.Item) -> str:
    """Return "lab", of which a machine has one, "browser", whose service is seeded once, or the test's file."""
    shared = {"slurm": "lab", "browser": "browser"}
    return next((group for mark, group in shared.items() if item.get_closest_marker(mark)), item.path.as_posix())


@pytest.fixture(autouse=True)
def planner_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one tick of the planner make all changes of a test, however slow the machine is."""
    monkeypatch.setattr("scheduler.ticks.plan.BUDGET_CPU_S", 60.0)
    monkeypatch.setattr("scheduler.ticks.plan.BUDGET_S", 600.0)


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
    with lab_lock():
        yield from _lab_in_service()


def _lab_in_service() -> Iterator[dict[str, str]]:
    command = [sys.executable, "-m", "lab"]
    was_up = subprocess.run([*command, "status"], capture_output=True).returncode == 0
    if not was_up:  # a lab that is up may have other numbers of hosts
        subprocess.run([*command, "up"], check=True)
    answer = subprocess.run([*command, "env"], check=True, capture_output=True, text=True).stdout
    lines = [line.removeprefix("export ").split("=", 1) for line in answer.splitlines() if line.startswith("export ")]
    yield {name: value.strip("'\"") for name, value in lines}
    if not was_up:
        subprocess.run([*command, "down"], check=True)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite database without rows, to be copied."""
    path = tmp_path_factory.mktemp("template") / "template.db"
    migrate_template(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The URL of a migrated PostgreSQL database without rows, to be copied."""
    return migrate_template(new_database(postgres_server, "template"))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Each kind of database that the service can use."""
    return str(request.param)


@pytest.fixture
def empty_database(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without tables, of either kind."""
    if database_kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'test.db'}"
    else:
        yield (url := new_database(request.getfixturevalue("postgres_server"), f"test{next(_numbers)}"))
        drop_database(url)


@pytest.fixture
def engine(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A migrated database of either kind."""
    if database_kind == "sqlite":
        url = copy_sqlite(request.getfixturevalue("sqlite_template"), tmp_path / "test.db")
    else:
        template = request.getfixturevalue("postgres_template")
        url = new_database(template, f"test{next(_numbers)}", template=template)
    engine = engine_for(url)
    yield engine
    engine.dispose()
    if database_kind == "postgres":
        drop_database(url)


@pytest.fixture
def sqlite_engine(sqlite_template: Path, tmp_path: Path) -> Iterator[Engine]:
    """A migrated SQLite database, where the kind does not matter."""
    engine = engine_for(copy_sqlite(sqlite_template, tmp_path / "bigbatch.db"))
    yield engine
    engine.dispose()


@pytest.fixture
def experiment() -> Experiment:
    """Make a small experiment; keyword arguments replace fields of its base."""
    return small_experiment
