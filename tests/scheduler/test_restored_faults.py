"""An older database whose folders cannot be read, or that no migration has brought up: ids stay unique all the same."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contract.access.visibility import Visibility
from contract.folder.service_records import Mark, read_mark
from contract.lifecycle.state import State
from scheduler.context import Context, Memory
from scheduler.ticks.ingest import ingest
from scheduler.ticks.mark import mark
from store import service
from store.restored import Restored, bring_up
from store.session import engine_for, snapshot, transaction
from tests.testing.clusters import Puppet
from tests.testing.other_user import open_folder_of_tests, without_root
from tests.testing.restored import begin, copied, create
from tests.testing.runs import read
from tests.testing.specs import Experiment


@pytest.fixture
def here(sqlite_template: Path, puppet: Puppet) -> Iterator[Context]:
    """A worker with a cluster of this machine; another user can own its folders."""
    with open_folder_of_tests() as folder:
        (folder / "old.db").write_bytes(sqlite_template.read_bytes())
        yield Context(
            engine_for(f"sqlite:///{folder / 'old.db'}"), {"local": puppet}, folder / "runs", local_ranks=1000
        )


def two_runs_that_go_on(here: Context, experiment: Experiment) -> tuple[Context, int, int]:
    """Return the copy of a database before the second attempts of two runs, whose folders have them."""
    closed, other = create(here, experiment, size=2)[1]
    for run_id in (closed, other):
        begin(here, run_id)
    ingest(here)
    old = copied(here, here.runs_folder.parent / "copy.db")
    younger, _ = create(here, experiment)
    assert younger == 2
    for run_id in (closed, other):
        begin(here, run_id, attempt=2)
    return old, closed, other


@pytest.mark.parametrize("is_home", [False, True], ids=["the database alone", "a home, with BIGBATCH_RUNS"])
def test_a_folder_that_a_run_has_closed_keeps_neither_ids_nor_other_runs_from_being_brought_up(
    here: Context, experiment: Experiment, is_home: bool
) -> None:
    """Forces the fault: mode 000. Before: nothing was brought up, and the next mark hid that for good."""
    old, closed, other = two_runs_that_go_on(here, experiment)
    folder = here.folder_of(read(here, closed)).path
    old.engine.dispose()
    with without_root(here.runs_folder.parent):
        folder.chmod(0)
        done = bring_up(old.engine, old.runs_folder, Restored(home=is_home))
        folder.chmod(0o700)
        old.engine.dispose()
    assert "experiments continue after id 2000, runs after id 20000, so no id is given twice" in done
    assert f"run {other} goes on with attempt 2, which is in its folder" in done
    assert f"whether the folder of run {closed} has a later attempt is not known: " in done[-1]
    with snapshot(old.engine) as db:
        assert service.given_ids(db) == (2000, 20_000)
    assert [read(old, run_id).attempt for run_id in (closed, other)] == [1, 2]
    assert bring_up(old.engine, old.runs_folder, Restored()) == [], "once"


def test_a_closed_folder_of_a_restored_home_costs_the_time_of_its_attempt_and_nothing_else(
    here: Context, experiment: Experiment
) -> None:
    """Forces the fault: the folder of a live run has mode 000."""
    (run_id,) = create(here, experiment)[1]
    folder = begin(here, run_id).path
    ingest(here)
    here.engine.dispose()
    with without_root(here.runs_folder.parent):
        folder.chmod(0)
        bring_up(here.engine, here.runs_folder, Restored(home=True, folders=True))
        folder.chmod(0o700)
        here.engine.dispose()
    assert read(here, run_id).state is State.QUEUED


def test_a_worker_brings_up_an_older_database_before_it_replaces_the_mark(
    here: Context, experiment: Experiment, caplog: pytest.LogCaptureFixture
) -> None:
    """Before: where the migration was not called, or had no file server, the worker wrote a lower count for good."""
    old, *both = two_runs_that_go_on(here, experiment)
    with caplog.at_level(logging.WARNING):
        mark(old)
    assert "older than what its service did last" in caplog.text
    with snapshot(old.engine) as db:
        identity, marks = service.identity(db), service.counted_marks(db)
    written = read_mark(old.runs_folder, identity)
    assert written is not None
    assert (written.count, written.experiments, written.runs) == (marks, 2000, 20_000)
    ingest(old)
    assert [(run.state, run.attempt) for run in (read(old, run_id) for run_id in both)] == [(State.RUNNING, 2)] * 2
    assert create(old, experiment)[0] == 2001
    assert caplog.text.count("older than what its service did last") == 1


def test_a_worker_whose_file_server_is_away_replaces_no_mark(
    here: Context, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the file of the mark cannot be read for one tick."""
    old, *_ = two_runs_that_go_on(here, experiment)

    def away(*_: object) -> None:
        raise OSError(112, "the file server is away")

    with monkeypatch.context() as broken:
        broken.setattr("store.restored.read_mark", away)
        with pytest.raises(OSError, match="away"):
            mark(old)
    mark(old)
    with snapshot(old.engine) as db:
        assert service.given_ids(db) == (2000, 20_000)


def test_a_mark_of_another_worker_is_no_sign_of_an_older_database(
    here: Context, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: a second worker counts and writes a mark between this one's look at database and file."""
    create(here, experiment)
    second = replace(here, memory=Memory())

    def read_late(root: Path, identity: str) -> Mark | None:
        monkeypatch.setattr("store.restored.read_mark", read_mark)
        mark(second)
        return read_mark(root, identity)

    monkeypatch.setattr("store.restored.read_mark", read_late)
    here.memory.marked_change = -1
    mark(here)
    assert create(here, experiment)[0] == 2


def test_a_mark_goes_into_a_folder_with_the_mode_of_run_folders(here: Context, experiment: Experiment) -> None:
    root = here.runs_folder.parent / "later"
    mark(replace(here, runs_folder=root, run_folders=Visibility.GROUP))
    assert root.stat().st_mode & 0o777 == 0o750
    root.chmod(0o755)  # a folder of the user, who shows more
    with transaction(here.engine) as db:
        service.count_mark(db)
    here.memory.marked_change = -1
    mark(replace(here, runs_folder=root, run_folders=Visibility.GROUP))
    assert root.stat().st_mode & 0o777 == 0o755
