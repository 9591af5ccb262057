"""Copies go with their artifacts: by retention, deletion and later attempts, whatever is down or killed meanwhile."""

from dataclasses import replace
from typing import Any

import pytest

from contract.folder.outputs.content import hash_content
from contract.folder.outputs.record import RecordedArtifact
from contract.lifecycle.artifact import CopyState, RemovalCause
from scheduler.artifacts.copying import copy_artifact
from scheduler.context import Context, Memory
from scheduler.ticks.delete import delete
from scheduler.ticks.mirror import mirror
from scheduler.ticks.prune import prune
from store.artifacts.artifacts import insert_artifacts, mark_removed
from store.lifecycle import deletion
from store.session import snapshot, transaction
from store.tables.artifacts import Artifact
from store.tables.runs import Run
from tests.testing.finished_runs import create, folder_of
from tests.testing.mirror import done, let_time_pass, objects, read_copy
from tests.testing.object_store import FaultyStore
from tests.testing.runs import make_older
from tests.testing.specs import small_experiment


def test_what_keep_removes_is_removed_in_the_store(mirrored: Context, faulty: FaultyStore) -> None:
    run_id = done(mirrored, keep={"kind": "days", "days": 1.0})
    mirror(mirrored)
    assert objects(faulty)
    make_older(mirrored, run_id, ended_at=2 * 24 * 3600.0)
    prune(mirrored)
    copy = read_copy(mirrored.engine, run_id)
    assert copy is not None
    assert copy.state is CopyState.REMOVING
    mirror(mirrored)
    assert objects(faulty) == {}
    assert read_copy(mirrored.engine, run_id) is None


def test_the_copies_of_a_deleted_run_are_removed_even_after_an_outage(mirrored: Context, faulty: FaultyStore) -> None:
    """Forces the fault: the store is down when the run is deleted, and a worker dies within the removal."""
    run_id = done(mirrored)
    mirror(mirrored)
    with transaction(mirrored.engine) as db:
        deletion.mark_runs(db, Run.id == run_id)
        db.get_one(Run, run_id).current_job_id = None
    create(mirrored, small_experiment())  # the newest run keeps its row
    delete(mirrored)
    with snapshot(mirrored.engine) as db:
        assert db.get(Run, run_id) is None
    faulty.is_down = True
    mirror(mirrored)
    assert objects(faulty), "the store is down"
    faulty.is_down = False
    for further in (1, 2):  # before and after the objects go
        let_time_pass(mirrored.engine)
        faulty.die_at = faulty.calls + further
        with pytest.raises(KeyboardInterrupt):
            mirror(mirrored)
        assert read_copy(mirrored.engine, run_id) is not None
    let_time_pass(mirrored.engine)
    mirror(mirrored)
    assert objects(faulty) == {}
    assert read_copy(mirrored.engine, run_id) is None


def test_an_artifact_that_is_removed_while_it_is_copied_leaves_nothing_in_the_store(
    mirrored: Context, faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: a slow worker's claim expires, another worker removes the copy, and the slow one writes on."""
    run_id = done(mirrored)

    def copy_slowly(*words: Any) -> str:
        with transaction(mirrored.engine) as db:
            mark_removed(db, RemovalCause.RETENTION, Artifact.run_id == run_id)
        mirror(replace(mirrored, memory=Memory()))
        assert read_copy(mirrored.engine, run_id) is not None, "the claim protects the copy"
        let_time_pass(mirrored.engine)
        mirror(replace(mirrored, memory=Memory()))
        assert read_copy(mirrored.engine, run_id) is None
        return copy_artifact(*words)

    monkeypatch.setattr("scheduler.ticks.mirror.copy_artifact", copy_slowly)
    mirror(mirrored)
    assert objects(faulty) == {}


def test_a_later_attempt_replaces_the_copies_of_the_earlier_one(mirrored: Context, faulty: FaultyStore) -> None:
    run_id = done(mirrored)
    mirror(mirrored)
    folder = folder_of(mirrored, run_id)
    (folder / "model.pt").write_text("better weights")
    found = RecordedArtifact(name="model", path="model.pt", **hash_content(folder, "model.pt")._asdict())
    with transaction(mirrored.engine) as db:  # as the end of a second attempt does
        insert_artifacts(db, run_id, 2, [found])
    mirror(mirrored)
    assert read_copy(mirrored.engine, run_id, attempt=1) is None
    copy = read_copy(mirrored.engine, run_id, attempt=2)
    assert copy is not None
    assert copy.state is CopyState.MIRRORED
    files = {name: content for name, content in objects(faulty).items() if "/files/" in name}
    assert files == {f"{copy.place}/files/model.pt": b"better weights"}
