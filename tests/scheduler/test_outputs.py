"""Outputs on their way from the record to the database: once, with the transition to done, and only what was named."""

import json
import os
from pathlib import Path

import pytest

from contract.folder.events import Finished
from contract.folder.outputs.content import hash_content
from contract.folder.outputs.record import OutputFault, OutputsRecord, RecordedArtifact
from contract.lifecycle.artifact import ArtifactKind, RemovalCause
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import CollectionFailed, OutputMissing
from contract.lifecycle.state import State
from scheduler.context import Context
from scheduler.events.uncollected import FAILURES
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from store import runs, transitions
from store.artifacts import artifacts
from store.artifacts.artifacts import Output
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.artifacts import Artifact
from store.tables.runs import Run
from tests.testing.events import STARTED, report
from tests.testing.outputs import write_outputs
from tests.testing.runs import ended_attempts, read, sentence
from tests.testing.specs import Experiment

FINISHED = Finished(attempt=1, at=9.0, step=4, outputs=True)
OUTPUTS = {"model": "model.pt", "samples": "samples"}
CHECKPOINT = "step-0000000004-attempt-1"


@pytest.fixture
def run_id(context: Context, experiment: Experiment) -> int:
    """Return a run that trains, with two outputs and a checkpoint in its folder."""
    with transaction(context.engine) as db:
        (run_id,) = creation.create(db, experiment(outputs=OUTPUTS))[1]
    submit_queued(context)
    folder = folder_of(context, run_id)
    (folder / "samples").mkdir()
    (folder / "samples" / "a").write_text("1")
    (folder / "model.pt").write_text("weights")
    (folder / "checkpoints" / CHECKPOINT).mkdir(parents=True)
    (folder / "checkpoints" / CHECKPOINT / "manifest.json").write_text("{}")
    report(context, run_id, STARTED)
    ingest(context)
    return run_id


def folder_of(context: Context, run_id: int) -> Path:
    return context.folder_of(read(context, run_id)).path


def recorded(context: Context, run_id: int, name: str, path: str, **change: object) -> RecordedArtifact:
    content = hash_content(folder_of(context, run_id), path)
    return RecordedArtifact.model_validate({"name": name, "path": path, **content._asdict(), **change})


def record(context: Context, run_id: int, *, attempt: int = 1) -> OutputsRecord:
    """Return the record that the job would write."""
    checkpoint = recorded(context, run_id, CHECKPOINT, f"checkpoints/{CHECKPOINT}", kind=ArtifactKind.CHECKPOINT)
    found = [recorded(context, run_id, name, path) for name, path in OUTPUTS.items()]
    return OutputsRecord(attempt=attempt, artifacts=[checkpoint, *found])


def stored(context: Context, run_id: int) -> list[Artifact]:
    with snapshot(context.engine) as db:
        return list(artifacts.of_run(db, run_id))


def names(context: Context, run_id: int) -> list[str]:
    return [one.name for one in stored(context, run_id) if one.removed_at is None]


def test_the_artifacts_are_stored_with_the_state_done(context: Context, run_id: int) -> None:
    written = record(context, run_id)
    write_outputs(folder_of(context, run_id), written)
    report(context, run_id, FINISHED)
    ingest(context)
    assert read(context, run_id).state is State.DONE
    found = {one.name: one for one in stored(context, run_id)}
    assert list(found) == ["model", "samples", CHECKPOINT]
    for one in written.artifacts:
        row = found[one.name]
        assert (row.kind, row.path, row.size_bytes, row.sha256) == (one.kind, one.path, one.size_bytes, one.sha256)
        assert (row.attempt, row.holder_id, row.removed_at) == (1, run_id, None)
    with snapshot(context.engine) as db:
        outputs = artifacts.outputs_of(db, [run_id, run_id + 1])
    model = outputs[run_id]["model"]
    assert model == Output(run_id, *written.artifacts[1].model_dump().values(), run_id, read(context, run_id).key)
    assert set(outputs[run_id]) == set(OUTPUTS)


@pytest.mark.ring("all")
def test_an_output_that_was_not_written_fails_the_run_and_is_named(context: Context, run_id: int) -> None:
    whole = record(context, run_id)
    faults = [OutputFault(name="model", path="model.pt", problem="there is no such file or folder")]
    kept = [one for one in whole.artifacts if one.name == "samples"]
    write_outputs(folder_of(context, run_id), OutputsRecord(attempt=1, artifacts=kept, faults=faults))
    report(context, run_id, FINISHED)
    ingest(context)
    run = read(context, run_id)
    assert run.state is State.FAILED
    problem = "there is no such file or folder"
    assert run.reason == OutputMissing(name="model", path="model.pt", problem=problem)
    assert sentence(run) == f"the output 'model' (model.pt) is missing: {problem}"
    (attempt,) = ended_attempts(context, run_id)
    assert (attempt.exit_cause, attempt.exit_reason) == (ExitCause.FAILURE, run.reason)
    assert stored(context, run_id) == []


def test_a_job_of_an_earlier_version_that_records_nothing_fails_by_the_same_reason(
    context: Context, run_id: int
) -> None:
    report(context, run_id, Finished(attempt=1, at=9.0, step=4))
    ingest(context)
    reason = read(context, run_id).reason
    assert isinstance(reason, OutputMissing)
    assert (reason.name, reason.others) == ("model", 1)


@pytest.mark.parametrize("text", ["", "no JSON", '{"attempt": 1, "artifacts": 3}', '{"attempt": 2}'])
def test_a_damaged_record_and_one_of_another_attempt_are_none(context: Context, run_id: int, text: str) -> None:
    (folder_of(context, run_id) / "outputs.json").write_text(text)
    report(context, run_id, FINISHED)
    ingest(context)
    assert isinstance(read(context, run_id).reason, OutputMissing)


def test_a_record_is_no_link_that_leads_elsewhere(context: Context, run_id: int) -> None:
    """Forces the fault: the program put a link to another file under the record's name."""
    other = folder_of(context, run_id).parent / "other.json"
    other.write_text(record(context, run_id).model_dump_json())
    os.symlink(other, folder_of(context, run_id) / "outputs.json")
    report(context, run_id, FINISHED)
    ingest(context)
    assert isinstance(read(context, run_id).reason, OutputMissing)


@pytest.mark.parametrize(
    "change",
    [
        {"path": "other.pt"},  # not the path of the spec
        {"name": "surprise"},  # an output that the spec does not name
        {"kind": "checkpoint"},  # an output is no checkpoint
    ],
)
def test_only_what_the_spec_names_is_accepted(context: Context, run_id: int, change: dict[str, object]) -> None:
    """Forces the fault: the job's record names something else than the spec."""
    whole = record(context, run_id)
    changed = [one.model_copy(update=dict(change)) if one.name == "model" else one for one in whole.artifacts]
    document = {"attempt": 1, "artifacts": [one.model_dump(mode="json") for one in changed]}
    (folder_of(context, run_id) / "outputs.json").write_text(json.dumps(document))
    report(context, run_id, FINISHED)
    ingest(context)
    reason = read(context, run_id).reason
    assert isinstance(reason, OutputMissing)
    assert reason.name == "model"


def test_a_record_that_is_not_visible_yet_is_awaited(context: Context, run_id: int) -> None:
    """Forces the order: the file system shows the last line of the events before the record."""
    report(context, run_id, FINISHED)
    ingest(context)
    assert read(context, run_id).state is State.RUNNING
    write_outputs(folder_of(context, run_id), record(context, run_id))
    ingest(context)
    assert (read(context, run_id).state, len(stored(context, run_id))) == (State.DONE, 3)


def test_a_record_that_never_comes_ends_the_run(context: Context, run_id: int) -> None:
    """Forces the fault: the program deleted the record after the job had written it."""
    report(context, run_id, FINISHED)
    for _ in range(FAILURES):
        ingest(context)
    run = read(context, run_id)
    assert (run.state, type(run.reason)) == (State.FAILED, CollectionFailed)
    assert "outputs.json" in (sentence(run) or "")


def test_a_job_that_was_killed_after_its_record_has_recorded_nothing(context: Context, run_id: int) -> None:
    """Forces the fault: the job is killed between the record and the report; the next attempt records again."""
    write_outputs(folder_of(context, run_id), record(context, run_id))
    ingest(context)
    assert (read(context, run_id).state, stored(context, run_id)) == (State.RUNNING, [])
    with transaction(context.engine) as db:  # the next attempt begins
        run = db.get_one(Run, run_id, options=[runs.WITH_JOB])
        transitions.apply(db, run, run.current_job, transitions.Transition(State.QUEUED))
        assert run.current_job
        run.current_job.is_gone = True
    submit_queued(context)
    report(context, run_id, STARTED.model_copy(update={"attempt": 2}))
    ingest(context)
    (folder_of(context, run_id) / "model.pt").write_text("other weights")
    write_outputs(folder_of(context, run_id), record(context, run_id, attempt=2))
    report(context, run_id, FINISHED.model_copy(update={"attempt": 2}))
    ingest(context)
    found = stored(context, run_id)
    assert [(one.attempt, one.name) for one in found] == [(2, "model"), (2, "samples"), (2, CHECKPOINT)]
    assert found[0].size_bytes == len("other weights")


def test_a_worker_that_dies_before_its_commit_stores_nothing_and_the_next_one_stores_all(
    context: Context, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the worker fails after it inserted the artifacts, before the transaction's end."""
    write_outputs(folder_of(context, run_id), record(context, run_id))
    report(context, run_id, FINISHED)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("store.changes.write", die)
        with pytest.raises(KeyboardInterrupt):
            ingest(context)
    assert (read(context, run_id).state, stored(context, run_id)) == (State.RUNNING, [])
    ingest(context)
    ingest(context)
    assert (read(context, run_id).state, len(stored(context, run_id))) == (State.DONE, 3)


def test_the_artifacts_of_a_later_attempt_replace_those_of_an_earlier_one(context: Context, run_id: int) -> None:
    write_outputs(folder_of(context, run_id), record(context, run_id))
    report(context, run_id, FINISHED)
    ingest(context)
    second = record(context, run_id, attempt=2)
    with transaction(context.engine) as db:
        artifacts.insert_artifacts(db, run_id, 2, second.artifacts[1:])
    old = [one for one in stored(context, run_id) if one.attempt == 1]
    assert {one.removed_because for one in old} == {RemovalCause.REPLACED}
    assert all(one.removed_at for one in old)
    assert names(context, run_id) == ["model", "samples"]
