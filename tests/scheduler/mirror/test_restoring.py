"""Results whose files are in the object store alone: restored when another run takes them, or not taken."""

from dataclasses import replace

import pytest

from contract.lifecycle.artifact import CopyState, RemovalCause
from contract.lifecycle.state import State
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.mirror import mirror
from scheduler.ticks.reuse import check_waiting_runs
from store.artifacts import artifacts
from store.mirror import outages
from store.session import snapshot, transaction
from store.tables.runs import Run
from tests.testing.finished_runs import create, finish, folder_of
from tests.testing.mirror import MODEL, done, place_of, read_copy
from tests.testing.object_store import FaultyStore
from tests.testing.runs import read
from tests.testing.specs import small_experiment


@pytest.fixture
def given(mirrored: Context) -> int:
    """Return a run that is done, whose output is in the store alone."""
    run_id = done(mirrored)
    mirror(mirrored)
    (folder_of(mirrored, run_id) / "model.pt").unlink()
    return run_id


def ask(context: Context) -> Run:
    (run_id,) = create(context, small_experiment(outputs=MODEL, reuse=True))
    check_waiting_runs(context)
    submit_queued(context)
    return read(context, run_id)


def still_listed(context: Context, run_id: int) -> bool:
    with snapshot(context.engine) as db:
        return "model" in artifacts.outputs_of(db, [run_id]).get(run_id, {})


@pytest.mark.ring("all")
def test_a_result_whose_files_are_in_the_store_alone_is_taken_and_its_files_are_back(
    mirrored: Context, given: int
) -> None:
    run = ask(mirrored)
    assert (run.state, run.taken_from) == (State.DONE, given)
    folder = folder_of(mirrored, given)
    assert (folder / "model.pt").read_text() == "weights"
    assert not [path for path in folder.iterdir() if path.name.startswith(".restored")]


def test_a_cache_entry_whose_files_were_deleted_everywhere_is_not_taken(
    mirrored: Context, faulty: FaultyStore, given: int
) -> None:
    """Forces the fault: somebody deletes the objects too."""
    faulty._files.rm(f"{faulty._root}/{place_of(mirrored, given)}", recursive=True)
    run = ask(mirrored)
    assert (run.state, run.taken_from) == (State.PENDING, None)


def test_a_cache_entry_without_a_copy_whose_files_were_deleted_is_listed_as_absent(mirrored: Context) -> None:
    run_id = done(mirrored)
    (folder_of(mirrored, run_id) / "model.pt").unlink()
    assert ask(mirrored).state is State.PENDING
    with snapshot(mirrored.engine) as db:
        assert artifacts.of_run(db, run_id)[0].removed_because is RemovalCause.ABSENT


def test_while_the_store_is_down_a_run_is_carried_out_and_the_result_stays_listed(
    mirrored: Context, faulty: FaultyStore, given: int
) -> None:
    """Forces the fault: the artifact store is down when a run asks for a result that it alone has."""
    faulty.is_down = True
    run = ask(mirrored)
    assert (run.state, run.taken_from) == (State.PENDING, None)
    assert still_listed(mirrored, given)
    faulty.is_down = False
    mirrored.memory.retries.forget(("restore", given, "model.pt"))  # its wait is over
    assert ask(mirrored).taken_from == given


def test_a_store_that_is_known_to_be_down_is_not_asked(mirrored: Context, faulty: FaultyStore, given: int) -> None:
    with transaction(mirrored.engine) as db:
        outages.record(db, faulty.url, "connection refused")
    calls = faulty.calls
    assert ask(mirrored).state is State.PENDING
    assert faulty.calls == calls


@pytest.mark.parametrize("corrupt", ["model.pt", "manifest.json"])
def test_wrong_bytes_from_the_store_are_not_taken(
    mirrored: Context, faulty: FaultyStore, given: int, corrupt: str
) -> None:
    """Forces the fault: the store returns the file, or the list of files, with one bit changed."""
    faulty.corrupt = corrupt
    run = ask(mirrored)
    assert (run.state, run.taken_from) == (State.PENDING, None)
    assert [path.name for path in folder_of(mirrored, given).glob("*model*")] == []
    assert [path.name for path in folder_of(mirrored, given).glob(".restored*")] == []
    assert still_listed(mirrored, given)
    calls, faulty.corrupt = faulty.calls, ""
    assert ask(mirrored).taken_from is None
    assert faulty.calls == calls, "each further run would wait for its bytes"
    mirrored.memory.retries.forget(("restore", given, "model.pt"))  # its wait is over
    assert ask(mirrored).taken_from == given


def test_a_file_that_a_person_has_changed_is_not_overwritten(mirrored: Context, given: int) -> None:
    """Forces the fault: another file of another size is in the output's place."""
    model = folder_of(mirrored, given) / "model.pt"
    model.write_text("what a person wrote")
    assert ask(mirrored).taken_from is None
    assert model.read_text() == "what a person wrote"
    copy = read_copy(mirrored.engine, given)
    assert copy is not None
    assert copy.state is CopyState.MIRRORED


def test_a_worker_that_dies_while_it_restores_leaves_nothing_in_the_place_of_the_output(
    mirrored: Context, faulty: FaultyStore, given: int
) -> None:
    """Forces the fault: the process ends at each call of the store; the next worker takes the result."""
    (run_id,) = create(mirrored, small_experiment(outputs=MODEL, reuse=True))
    for further in (1, 2):  # the list of files, and the file
        faulty.die_at = faulty.calls + further
        with pytest.raises(KeyboardInterrupt):
            check_waiting_runs(mirrored)
        assert not (folder_of(mirrored, given) / "model.pt").exists()
        assert read(mirrored, run_id).state is State.QUEUED
    check_waiting_runs(mirrored)
    assert read(mirrored, run_id).taken_from == given


def test_no_link_in_the_folder_is_followed(
    mirrored: Context, given: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Forces the fault: after the end of the run a job puts a link in the place of a folder on the output's path."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (run_id,) = create(mirrored, small_experiment(outputs={"model": "out/model.pt"}))
    (folder_of(mirrored, run_id) / "out").mkdir(parents=True)
    finish(mirrored, run_id, {"model": "weights"})
    mirror(mirrored)
    out = folder_of(mirrored, run_id) / "out"
    (out / "model.pt").unlink()
    out.rmdir()
    out.symlink_to(elsewhere)
    (asking,) = create(mirrored, small_experiment(outputs={"model": "out/model.pt"}, reuse=True))
    check_waiting_runs(mirrored)
    assert read(mirrored, asking).taken_from is None
    assert list(elsewhere.iterdir()) == []


def test_without_the_store_in_the_settings_the_run_is_carried_out(mirrored: Context, given: int) -> None:
    assert ask(replace(mirrored, object_store=None)).state is State.PENDING
    assert still_listed(mirrored, given)
