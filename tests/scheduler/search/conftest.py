"""Contexts for searches: most tests need one database only."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from scheduler.context import Context
from tests.testing.clusters import Puppet


@pytest.fixture
def context(sqlite_engine: Engine, puppet: Puppet, tmp_path: Path) -> Context:
    return Context(sqlite_engine, {"local": puppet}, tmp_path / "runs", local_ranks=1000)


@pytest.fixture
def either(engine: Engine, puppet: Puppet, tmp_path: Path) -> Context:
    """A context on SQLite, and one on PostgreSQL."""
    return Context(engine, {"local": puppet}, tmp_path / "runs", local_ranks=1000)
