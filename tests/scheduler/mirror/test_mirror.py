"""The mirror tick: an artifact is mirrored once what the store returns has its hash, whatever is killed meanwhile."""

import hashlib
import itertools
import json
import os
from dataclasses import replace
from secrets import token_hex

import pytest

from contract.folder.events import Finished
from contract.folder.outputs.content import hash_content
from contract.folder.outputs.record import OutputsRecord, RecordedArtifact
from contract.lifecycle.artifact import ArtifactKind, CopyState
from contract.lifecycle.state import State
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.ticks.mirror import mirror
from store.mirror import copies, outages
from store.mirror.copies import MAX_FAULTS
from store.session import snapshot
from tests.testing.events import STARTED, report
from tests.testing.finished_runs import create, folder_of
from tests.testing.mirror import done, let_time_pass, objects, place_of, read_copy
from tests.testing.object_store import FaultyStore
from tests.testing.outputs import write_outputs
from tests.testing.runs import read
from tests.testing.specs import small_experiment

MODEL = {"model": "model.pt"}
CHECKPOINT = "step-0000000004-attempt-1"


def test_an_artifact_is_copied_with_a_list_of_its_files(mirrored: Context, faulty: FaultyStore) -> None:
    run_id = done(mirrored)
    before = read_copy(mirrored.engine, run_id)
    assert before is not None
    assert (before.state, before.copied_at) == (CopyState.WAITING, None)
    mirror(mirrored)
    copy = read_copy(mirrored.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.store, copy.problem) == (CopyState.MIRRORED, faulty.url, None)
    assert copy.copied_at is not None
    place, found = place_of(mirrored, run_id), objects(faulty)
    assert copy.place == place
    assert found[f"{place}/files/model.pt"] == b"weights"
    manifest = found[f"{place}/manifest.json"]
    assert hashlib.sha256(manifest).hexdigest() == copy.manifest_sha256
    assert json.loads(manifest)["files"] == [["model.pt", 7, hashlib.sha256(b"weights").hexdigest()]]
    calls = faulty.calls
    mirror(mirrored)
    assert faulty.calls == calls, "what is mirrored is not copied again"


def test_a_folder_a_checkpoint_and_odd_names_are_copied(mirrored: Context, faulty: FaultyStore) -> None:
    run_id = finish_with_folder(mirrored)
    mirror(mirrored)
    for name in ("samples", CHECKPOINT):
        copy = read_copy(mirrored.engine, run_id, name)
        assert copy is not None
        assert copy.state is CopyState.MIRRORED, copy.problem
    found = objects(faulty)
    place = place_of(mirrored, run_id, "samples")
    assert found[f"{place}/files/inner/b"] == b"22"
    assert found[f"{place}/files/%FF%20%3F%23"] == b"odd"
    assert json.loads(found[f"{place}/manifest.json"])["links"] == [["link", "inner/b"]]
    assert found[f"{place_of(mirrored, run_id, CHECKPOINT)}/files/rank-0.pt"] == b"part"


def finish_with_folder(context: Context) -> int:
    """Let a run be done with a folder that has a link and a name that is no UTF-8, and a checkpoint."""
    (run_id,) = create(context, small_experiment(outputs={"samples": "out/samples"}))
    submit_queued(context)
    folder = folder_of(context, run_id)
    (folder / "out/samples/inner").mkdir(parents=True)
    (folder / "checkpoints" / CHECKPOINT).mkdir(parents=True)
    (folder / "out/samples/inner/b").write_bytes(b"22")
    (folder / "out/samples" / os.fsdecode(b"\xff ?#")).write_bytes(b"odd")
    os.symlink("inner/b", folder / "out/samples/link")
    (folder / "checkpoints" / CHECKPOINT / "rank-0.pt").write_bytes(b"part")
    (folder / "checkpoints" / CHECKPOINT / "manifest.json").write_bytes(b"{}")
    samples = hash_content(folder, "out/samples")
    path = f"checkpoints/{CHECKPOINT}"
    found = [
        RecordedArtifact(name="samples", path="out/samples", **samples._asdict()),
        RecordedArtifact(
            name=CHECKPOINT,
            kind=ArtifactKind.CHECKPOINT,
            path=path,
            size_bytes=6,
            files=2,
            sha256=hash_content(folder, f"{path}/manifest.json").sha256,
        ),
    ]
    write_outputs(folder, OutputsRecord(attempt=1, artifacts=found))
    report(context, run_id, STARTED, Finished(attempt=1, at=9.0, step=1, outputs=True))
    ingest(context)
    return run_id


@pytest.mark.ring("all")
def test_a_worker_that_dies_at_any_call_leaves_a_copy_that_another_one_completes(context: Context) -> None:
    """Forces the fault: the process ends before, within and after each call of the store, one after the other."""
    for number in itertools.count(1):
        store = FaultyStore(f"memory://{token_hex(4)}", die_at=number)
        worker = replace(context, object_store=store)
        run_id = done(worker, seed=number)
        try:
            mirror(worker)
        except KeyboardInterrupt:
            copy = read_copy(context.engine, run_id)
            assert copy is not None
            assert (copy.state, copy.copied_at, copy.manifest_sha256) == (CopyState.WAITING, None, None)
        else:
            break
        mirror(worker)
        again = read_copy(context.engine, run_id)
        assert again is not None
        assert again.claims == 1, "nobody takes a copy whose claim has not expired"
        let_time_pass(context.engine)
        mirror(worker)
        whole = read_copy(context.engine, run_id)
        assert whole is not None
        assert (whole.state, whole.claims) == (CopyState.MIRRORED, 2)
        assert objects(store)[f"{place_of(worker, run_id)}/files/model.pt"] == b"weights"
    assert number > 6


def test_a_worker_that_dies_before_it_stores_the_end_shows_no_copy(
    mirrored: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: all objects are written and read back, and the process ends before its last transaction."""
    run_id = done(mirrored)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(copies, "finish", die)
        with pytest.raises(KeyboardInterrupt):
            mirror(mirrored)
    copy = read_copy(mirrored.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.copied_at) == (CopyState.WAITING, None)
    let_time_pass(mirrored.engine)
    mirror(mirrored)
    copy = read_copy(mirrored.engine, run_id)
    assert copy is not None
    assert copy.state is CopyState.MIRRORED


@pytest.mark.ring("all")
def test_wrong_bytes_from_the_store_are_no_copy(mirrored: Context, faulty: FaultyStore) -> None:
    """Forces the fault: the store returns a file with one bit changed, each time it is asked."""
    run_id = done(mirrored)
    faulty.corrupt = "model.pt"
    for _ in range(MAX_FAULTS):
        copy = read_copy(mirrored.engine, run_id)
        assert copy is not None
        assert copy.state is CopyState.WAITING
        mirror(mirrored)
        let_time_pass(mirrored.engine)
    copy = read_copy(mirrored.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.copied_at) == (CopyState.FAULTY, None)
    assert "other bytes" in str(copy.problem)


def test_a_wrong_list_of_files_is_no_copy(mirrored: Context, faulty: FaultyStore) -> None:
    run_id = done(mirrored)
    faulty.corrupt = "manifest.json"
    mirror(mirrored)
    copy = read_copy(mirrored.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.faults) == (CopyState.WAITING, 1)
    faulty.corrupt = ""
    let_time_pass(mirrored.engine)
    mirror(mirrored)
    copy = read_copy(mirrored.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.faults, copy.problem) == (CopyState.MIRRORED, 0, None)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("text", ["other weights", "Weights", None], ids=["longer", "equally long", "gone"])
def test_files_that_changed_since_their_hash_are_no_copy(mirrored: Context, text: str | None) -> None:
    """Forces the fault: a person changes the output between the run's end and the copy."""
    run_id = done(mirrored)
    model = folder_of(mirrored, run_id) / "model.pt"
    model.unlink()
    if text is not None:
        model.write_text(text)
    for _ in range(MAX_FAULTS):
        mirror(mirrored)
        let_time_pass(mirrored.engine)
    copy = read_copy(mirrored.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.faults) == (CopyState.FAULTY, MAX_FAULTS)
    assert ("no such file" if text is None else "changed since the end of the run") in str(copy.problem)


def test_while_the_store_is_down_it_is_tried_from_time_to_time_and_the_run_stays_done(
    mirrored: Context, faulty: FaultyStore
) -> None:
    """Forces the fault: the artifact store is down, then it is back."""
    run_ids = [done(mirrored, seed=seed) for seed in range(3)]
    faulty.is_down = True
    for _ in range(4):
        mirror(mirrored)
    assert faulty.calls == 1, "one try for all copies"
    for tries in range(2, 5):
        let_time_pass(mirrored.engine)
        mirror(mirrored)
        with snapshot(mirrored.engine) as db:
            outage = outages.find(db, faulty.url)
        assert outage is not None
        assert (outage.tries, outage.problem) == (tries, "connection refused")
    assert {read(mirrored, run_id).state for run_id in run_ids} == {State.DONE}
    faulty.is_down = False
    let_time_pass(mirrored.engine)
    mirror(mirrored)
    for run_id in run_ids:
        copy = read_copy(mirrored.engine, run_id)
        assert copy is not None
        assert (copy.state, copy.problem) == (CopyState.MIRRORED, None)
    with snapshot(mirrored.engine) as db:
        assert outages.find(db, faulty.url) is None


def test_the_waits_grow_to_five_minutes() -> None:
    waits = [outages.wait_after(tries).total_seconds() for tries in range(12)]
    assert waits[:4] == [2.0, 4.0, 8.0, 16.0]
    assert waits == sorted(waits)
    assert waits[-1] == 300.0


def test_without_an_object_store_nothing_is_copied_and_a_later_setting_copies_it(
    context: Context, faulty: FaultyStore
) -> None:
    run_id = done(context)
    mirror(context)
    copy = read_copy(context.engine, run_id)
    assert copy is not None
    assert (copy.state, copy.claims) == (CopyState.WAITING, 0)
    mirror(replace(context, object_store=faulty))
    copy = read_copy(context.engine, run_id)
    assert copy is not None
    assert copy.state is CopyState.MIRRORED
