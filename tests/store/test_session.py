"""Sessions: several that open one new SQLite file wait for each other, and PostgreSQL compiles no query."""

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from store.session import engine_for, snapshot, transaction


def test_a_new_file_that_another_process_writes_to_is_waited_for(tmp_path: Path) -> None:
    """Forces the race: the other has created the file, and has not made its journal a write-ahead log yet."""
    other = sqlite3.connect(tmp_path / "new.db", isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE told (word)")
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO told VALUES ('first')")
    end = threading.Timer(0.3, other.execute, ["COMMIT"])
    end.start()
    with transaction(engine_for(f"sqlite:///{tmp_path / 'new.db'}")) as db:
        assert db.scalars(text("SELECT word FROM told")).all() == ["first"]
        assert db.scalar(text("PRAGMA journal_mode")) == "wal"
    end.join()
    other.close()


@pytest.mark.postgres
@pytest.mark.parametrize("database_kind", ["postgres"])
def test_postgresql_does_not_compile_queries_which_takes_longer_than_to_carry_them_out(engine: Engine) -> None:
    with snapshot(engine) as db:
        assert db.scalar(text("SHOW jit")) == "off"
