"""Tests of the migration at the start of `bigbatch up`, which brings a restored database up to its run folders."""

from pathlib import Path

import pytest

from bigbatch.service.address import Address
from bigbatch.service.interrupts import Interrupts
from bigbatch.service.service import Service
from contract.folder.service_records import Mark, write_mark
from contract.settings import RESTORED
from store import service
from store.session import engine_for, snapshot


def migrate(home: Path) -> str:
    """Carry out what `bigbatch up` does first; return what it has written into its log."""
    with Interrupts() as interrupts:
        migrations = Service(Address("127.0.0.1", 1), home, interrupts=interrupts)._migrations
    migrations.start()
    assert migrations._process is not None
    assert migrations._process.wait(60) == 0, migrations.log.read_text()
    return migrations.log.read_text()


@pytest.mark.parametrize("is_home", [False, True], ids=["the database alone", "a home"])
def test_an_older_database_is_compared_with_the_run_folders_of_bigbatch_runs(
    sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_home: bool
) -> None:
    """Before: the migration did not get BIGBATCH_RUNS, found no mark below the home, and ids were given twice."""
    home, root = tmp_path / "home", tmp_path / "scratch"
    home.mkdir(mode=0o700)
    root.mkdir()
    (home / "bigbatch.db").write_bytes(sqlite_template.read_bytes())
    engine = engine_for(f"sqlite:///{home / 'bigbatch.db'}")
    with snapshot(engine) as db:
        write_mark(root, service.identity(db), Mark(count=7, experiments=41, runs=20_500))
    if is_home:
        (home / RESTORED).touch()
    monkeypatch.setenv("BIGBATCH_RUNS", str(root))
    assert "experiments continue after id 2000, runs after id 40000" in migrate(home)
    with snapshot(engine) as db:
        assert service.given_ids(db) == (2000, 40_000)
