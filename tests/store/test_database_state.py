"""What is wrong with a database as a whole: a sentence at once, from every part of the service."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from importlib.metadata import version
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from contract.refusal import REFUSED
from migrations.commands import state
from store import database_state
from store.session import engine_for, transaction
from tests.testing.databases import drop_database, new_database
from tests.testing.other_user import open_folder_of_tests, without_root

NEWER = "the database is of a newer version of Bigbatch: its tables have revision 9999, and this version"
OLDER = (
    "the database is of an older version of Bigbatch: its tables have revision 0040, and this version "
    f"({version('bigbatch')}) carries over 0041 and later ones: "
    "start the database once with the version of commit 9ce4c2b3"
)
PARTS = (("migrations", "upgrade"), ("scheduler", "worker"), ("scheduler", "clock"), ("scheduler", "close"))
API = ("api", "--port", "1")  # no process may serve there: it ends before
AT_ONCE_S = 20  # a process of the service starts within a second or two on an idle machine


def started(tmp_path: Path, words: tuple[str, ...], **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a part of the service until it ends."""
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, env=environment(tmp_path, settings), capture_output=True, text=True, timeout=60)


def environment(tmp_path: Path, settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BIGBATCH_")}
    return {**inherited, "BIGBATCH_HOME": str(tmp_path), "BIGBATCH_SLURM": "false", **settings}


def with_revision(revision: str, template: Path, path: Path) -> str:
    """Copy a database to `path` and let its tables have this revision; return the copy's URL."""
    path.write_bytes(template.read_bytes())
    with engine_for(url := f"sqlite:///{path}").begin() as connection:
        connection.execute(text("update alembic_version set version_num = :at"), {"at": revision})
    return url


@pytest.fixture
def newer(tmp_path: Path, sqlite_template: Path) -> str:
    """The URL of a database that a later version has migrated."""
    return with_revision("9999", sqlite_template, tmp_path / "newer.db")


@pytest.fixture
def older(tmp_path: Path, sqlite_template: Path) -> str:
    """The URL of a database from before the first migration."""
    return with_revision("0040", sqlite_template, tmp_path / "older.db")


def test_the_newest_revision_is_that_of_the_newest_migration(empty_database: str) -> None:
    assert state(empty_database) == ("none", database_state.newest_revision())


@pytest.mark.parametrize(
    "words", [PARTS[0], *(pytest.param(words, marks=pytest.mark.ring("all")) for words in PARTS[1:])]
)
def test_no_part_starts_on_a_database_of_a_newer_version(words: tuple[str, ...], newer: str, tmp_path: Path) -> None:
    done = started(tmp_path, words, BIGBATCH_DATABASE=newer)
    assert done.returncode == REFUSED
    assert done.stderr.startswith(NEWER)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words", [PARTS[0], *(pytest.param(words, marks=pytest.mark.ring("all")) for words in PARTS[1:])]
)
def test_a_database_that_does_not_answer_is_a_sentence_at_once_without_its_password(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    began = time.monotonic()
    done = started(tmp_path, words, BIGBATCH_DATABASE="postgresql://ada:5ecret@127.0.0.1:1/x")
    assert time.monotonic() - began < AT_ONCE_S
    assert done.returncode == REFUSED
    assert done.stderr.startswith("the database postgresql://ada:***@127.0.0.1:1/x does not answer: ")
    assert "set BIGBATCH_DATABASE" in done.stderr
    assert "5ecret" not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_a_database_whose_version_cannot_be_read_tells_why(tmp_path: Path, sqlite_template: Path) -> None:
    """Forces the fault: it answers, and reading its version fails; the log of each part had a traceback."""
    (path := tmp_path / "damaged.db").write_bytes(sqlite_template.read_bytes())
    url = f"sqlite:///{path}"
    with engine_for(url).begin() as connection:
        connection.execute(text("alter table alembic_version rename column version_num to other"))
    told = f"the version of the database {url} cannot be read: no such column: version_num"
    assert database_state.start_problem(url) == told


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"BIGBATCH_DATABASE": "postgres://ada:5ecret@host/x"}, "begins with postgresql:// or sqlite:///"),
        ({"BIGBATCH_DATABASE": "postgresql://ada:5e@cret@host/x"}, "write %40"),
        ({"BIGBATCH_DATABASE": "postgresql://ada:5ecret@host:5432x/x"}, "the port is no number"),
        ({"BIGBATCH_BROKER": "redis://:5e/cret@host:6379/0"}, "write %40, %2F"),
        ({"BIGBATCH_BROKER": "redis://:5e#cret@host:6379/0"}, "write %40, %2F"),
        ({"BIGBATCH_BROKER": "host:6379"}, "begins with redis://"),
    ],
)
@pytest.mark.ring("gate", others="all")
def test_an_address_that_libraries_would_misread_is_refused_and_none_of_it_is_printed(
    settings: dict[str, str], told: str, tmp_path: Path
) -> None:
    done = started(tmp_path, ("migrations", "state"), **settings)
    assert done.returncode == REFUSED
    assert told in done.stderr
    assert done.stderr.startswith(f"{next(iter(settings))}: ")
    for part in ("5e", "cret", "ada", "Traceback"):
        assert part not in done.stderr + done.stdout


@pytest.mark.ring("all")
def test_three_migrations_at_once_wait_for_each_other(empty_database: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        command = [sys.executable, "-m", "migrations", "upgrade"]
        own = environment(tmp_path, {"BIGBATCH_DATABASE": empty_database})
        all_at_once = [
            stack.enter_context(subprocess.Popen(command, env=own, stderr=subprocess.PIPE, text=True)) for _ in range(3)
        ]
        told = [process.communicate(timeout=120)[1] for process in all_at_once]
    assert [process.returncode for process in all_at_once] == [0, 0, 0], told
    assert state(empty_database) == (database_state.newest_revision(),) * 2


@pytest.fixture
def read_only(postgres_template: str) -> Iterator[str]:
    """A PostgreSQL database that takes no changes."""
    url = new_database(postgres_template, "read_only", template=postgres_template)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter database read_only set default_transaction_read_only = on")
    yield url
    engine_for(url).dispose()
    drop_database(url)


@pytest.mark.postgres
def test_a_read_only_database_is_told_before_anything_is_written(read_only: str) -> None:
    engine = engine_for(read_only)
    with engine.connect() as connection:
        assert "is read-only" in str(database_state.read_only_problem(connection))
    with pytest.raises(SQLAlchemyError, match="read-only") as failed, transaction(engine) as db:
        db.execute(text("update runs set id = id"))
    assert "the database is read-only" in str(database_state.told(failed.value))


def test_a_read_only_file_is_told(sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: the file may not be written; root may write each file."""
    (tmp_path / "x.db").write_bytes(sqlite_template.read_bytes())
    with engine_for(f"sqlite:///{tmp_path / 'x.db'}").connect() as connection:
        assert database_state.read_only_problem(connection) is None
        monkeypatch.setattr(os, "access", lambda *_: False)
        assert "is read-only" in str(database_state.read_only_problem(connection))


@pytest.mark.parametrize("closed", [0o444, 0o555], ids=["its file", "its folder"])
def test_a_database_that_sqlite_may_not_write_is_told_at_once(sqlite_template: Path, closed: int) -> None:
    """Forces the fault by the modes. Before: after half a minute, in SQLite's words, and a folder was not noticed."""
    with open_folder_of_tests() as folder:
        file = folder / "x.db"
        file.write_bytes(sqlite_template.read_bytes())
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA journal_mode=DELETE")
        url = f"sqlite:///{file}"
        with without_root(folder):
            (file if closed == 0o444 else folder).chmod(closed)
            began = time.monotonic()
            told = database_state.no_answer(url)
            folder.chmod(0o755)
            engine_for(url).dispose()
    assert "the database is read-only" in str(told)
    assert time.monotonic() - began < AT_ONCE_S


def test_a_database_in_memory_or_of_a_uri_is_not_taken_for_a_read_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for engine in (engine_for(f"sqlite:///file:{tmp_path / 'x.db'}?uri=true"), create_engine("sqlite://")):
        with engine.connect() as connection:
            assert database_state.read_only_problem(connection) is None
    assert not (tmp_path / "file:").exists(), "no folder of the URI's name"


def test_a_database_before_the_newest_migration_is_told_with_the_command(
    sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a later migration: the tables have the revision before it."""
    monkeypatch.setattr(database_state, "newest_revision", lambda: "9999")
    at = database_state.first_revision()
    with engine_for(with_revision(at, sqlite_template, tmp_path / "x.db")).connect() as connection:
        told = database_state.other_revision(connection)
    assert told == f"its tables have revision {at} instead of 9999: run python -m migrations upgrade"


@pytest.mark.parametrize(
    "words", [PARTS[0], *(pytest.param(words, marks=pytest.mark.ring("all")) for words in (*PARTS[1:], API))]
)
def test_no_part_starts_on_a_database_from_before_the_first_migration(
    words: tuple[str, ...], older: str, tmp_path: Path
) -> None:
    done = started(tmp_path, words, BIGBATCH_DATABASE=older)
    assert (done.returncode, done.stderr) == (REFUSED, f"{OLDER}\n")
    with engine_for(older).connect() as connection:
        assert database_state.revision(connection) == "0040"
        assert database_state.other_revision(connection) == OLDER


def test_the_state_of_the_migrations_says_what_to_do_with_an_older_database(older: str, tmp_path: Path) -> None:
    done = started(tmp_path, ("migrations", "state"), BIGBATCH_DATABASE=older)
    assert (done.returncode, done.stdout) == (0, f"0040 {database_state.newest_revision()}\n{OLDER}\n")
