"""The reuse tick: a run takes the result of a finished run that computed the same, and of no other."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from contract.lifecycle.artifact import RemovalCause
from contract.lifecycle.reason import RetryRequested, TakenFrom
from contract.lifecycle.reuse import Reuse
from contract.lifecycle.state import State
from scheduler.artifacts import input_hashes
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks import reuse as reuse_tick
from scheduler.ticks.delete import delete
from scheduler.ticks.reuse import check_waiting_runs
from store import runs, transitions
from store.artifacts import artifacts, file_hashes
from store.artifacts import reuse as stored_reuse
from store.artifacts.reuse import Candidate, Checked
from store.lifecycle import deletion
from store.metrics import curves
from store.session import snapshot, transaction
from store.tables.artifacts import Artifact, FileHash
from store.tables.points import Figure
from store.tables.runs import Move, Run
from tests.testing.clusters import Puppet
from tests.testing.finished_runs import LOSSES, create, finish, folder_of
from tests.testing.runs import read, sentence
from tests.testing.specs import small_experiment

OUTPUTS = {"model": "model.pt"}
WEIGHTS = {"model": "weights"}


@pytest.fixture
def done(context: Context) -> int:
    """Return a run that is done, with four points and an output."""
    (run_id,) = create(context, small_experiment(outputs=OUTPUTS))
    finish(context, run_id, WEIGHTS, heldout_accuracy=0.75)
    assert read(context, run_id).state is State.DONE
    return run_id


def ask(context: Context, *, force: bool = False, **fields: Any) -> Run:
    """Store a run that asks for a finished run's result, and let the ticks pass; return the run."""
    (run_id,) = create(context, small_experiment(**{"outputs": OUTPUTS, "reuse": True, **fields}), force=force)
    check_waiting_runs(context)
    submit_queued(context)
    return read(context, run_id)


def test_a_run_takes_the_result_of_a_finished_run_without_a_job(context: Context, puppet: Puppet, done: int) -> None:
    jobs = len(puppet.jobs)
    run = ask(context)
    assert (run.state, run.reason, run.taken_from) == (State.DONE, TakenFrom(run=done), done)
    assert (run.attempt, run.current_job_id, run.step, run.latest["loss"]) == (0, None, 4, LOSSES[-1])
    assert run.objective_value == 0.75
    assert len(puppet.jobs) == jobs
    assert sentence(run) == f"taken from run {done}, which has an equal spec, equal code and equal inputs"
    with snapshot(context.engine) as db:
        found, _ = curves.of_run(db, run.id, ["loss"], after=-1, limit=100)
        figures = {row.name: row.least for row in db.scalars(select(Figure).where(Figure.run_id == run.id))}
        outputs = artifacts.outputs_of(db, [run.id])[run.id]
        moves = db.scalars(select(Move.new).where(Move.run_id == run.id).order_by(Move.id)).all()
    assert tuple(found["loss"][1]) == LOSSES
    assert figures == {"loss": LOSSES[-1], "heldout_accuracy": 0.75}
    assert (outputs["model"].holder_id, outputs["model"].size_bytes) == (done, len("weights"))
    assert moves == ["queued", "done"]


def test_a_run_that_does_not_ask_is_carried_out(context: Context, done: int) -> None:
    run = ask(context, reuse=False)
    assert (run.state, run.reuse, run.taken_from) == (State.PENDING, None, None)


def test_a_run_is_not_submitted_before_the_service_has_looked(context: Context, done: int) -> None:
    (run_id,) = create(context, small_experiment(outputs=OUTPUTS, reuse=True, seed=3))
    submit_queued(context)
    assert read(context, run_id).state is State.QUEUED
    check_waiting_runs(context)
    submit_queued(context)
    assert (read(context, run_id).state, read(context, run_id).reuse) == (State.PENDING, Reuse.CHECKED)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("change", [{"seed": 1}, {"batch": 128}, {"outputs": {"model": "other.pt"}}])
def test_another_spec_takes_nothing(context: Context, done: int, change: dict[str, Any]) -> None:
    assert ask(context, **change).state is State.PENDING


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    "columns",
    [
        {"state": State.FAILED},
        {"state": State.CANCELLED},
        {"deleted_at": "now"},
        {"points_removed_at": "now"},
        {"taken_from": 7},
    ],
    ids=str,
)
def test_nothing_is_taken_from_a_run_that_is_not_done_or_not_whole(
    context: Context, done: int, columns: dict[str, Any]
) -> None:
    """Forces the fault: the run changes to this after it was done."""
    ended_at = read(context, done).ended_at
    values = {name: ended_at if value == "now" else value for name, value in columns.items()}
    with transaction(context.engine) as db:
        db.execute(update(Run).where(Run.id == done).values(values))
    assert ask(context).state is State.PENDING


def test_nothing_is_taken_from_a_run_whose_output_was_deleted(context: Context, done: int) -> None:
    """Forces the fault: a person deletes the file; the list of artifacts says so from then on."""
    (folder_of(context, done) / "model.pt").unlink()
    run = ask(context)
    assert (run.state, run.taken_from) == (State.PENDING, None)
    with snapshot(context.engine) as db:
        (model,) = artifacts.of_run(db, done)
    assert model.removed_because is RemovalCause.ABSENT
    assert model.removed_at is not None


@pytest.mark.ring("all")
def test_nothing_is_taken_from_a_run_whose_output_has_another_size(context: Context, done: int) -> None:
    (folder_of(context, done) / "model.pt").write_text("other weights")
    assert ask(context).state is State.PENDING


def test_the_newest_run_whose_outputs_are_there_is_taken(context: Context, done: int) -> None:
    newer = [create(context, small_experiment(outputs=OUTPUTS))[0] for _ in range(2)]
    for run_id in newer:
        finish(context, run_id, WEIGHTS)
    (folder_of(context, newer[1]) / "model.pt").unlink()
    assert ask(context).taken_from == newer[0]


def test_a_forced_run_is_carried_out_and_then_counts_itself(context: Context, done: int) -> None:
    forced = ask(context, force=True)
    assert (forced.state, forced.reuse, forced.taken_from) == (State.PENDING, Reuse.CHECKED, None)
    finish(context, forced.id, WEIGHTS)
    assert ask(context).taken_from == forced.id


def test_a_second_worker_takes_nothing_for_a_run_that_has_its_result(context: Context, done: int) -> None:
    """Forces the order: another worker takes the result between this one's look and its transaction."""
    key = str(read(context, done).reuse_key)
    (run_id,) = create(context, small_experiment(outputs=OUTPUTS, reuse=True))
    with snapshot(context.engine) as db:
        (source,) = stored_reuse.candidates(db, [key])[key]
    taken = []
    for _ in range(2):
        with transaction(context.engine) as db:
            taken.append(stored_reuse.take_results(db, [Checked(run_id, key, {}, source.id)]))
    assert taken == [{run_id}, set()]
    with snapshot(context.engine) as db:
        assert db.scalars(select(Move.new).where(Move.run_id == run_id).order_by(Move.id)).all() == ["queued", "done"]
        assert len(db.scalars(select(Artifact).where(Artifact.run_id == run_id)).all()) == 1


def test_nothing_is_taken_from_a_run_that_goes_on_meanwhile(context: Context, done: int) -> None:
    """Forces the order: somebody asks the finished run for more epochs after this worker's look."""
    key = str(read(context, done).reuse_key)
    (run_id,) = create(context, small_experiment(outputs=OUTPUTS, reuse=True))
    with snapshot(context.engine) as db:
        (source,) = stored_reuse.candidates(db, [key])[key]
    with transaction(context.engine) as db:
        transitions.queue_ended(db, [done], State.DONE, RetryRequested())
    with transaction(context.engine) as db:
        assert not stored_reuse.take_results(db, [Checked(run_id, key, {}, source.id)])
    assert read(context, run_id).state is State.QUEUED


@pytest.mark.ring("all")
def test_a_run_is_carried_out_whose_source_loses_its_outputs_meanwhile(
    context: Context, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: `keep` removes the outputs between the look at their files and the taking."""
    real = reuse_tick._has_files

    def removed_after(context: Context, candidate: Candidate) -> bool:
        found = real(context, candidate)
        with transaction(context.engine) as db:
            artifacts.mark_removed(db, RemovalCause.RETENTION, Artifact.holder_id == candidate.id)
        return found

    monkeypatch.setattr(reuse_tick, "_has_files", removed_after)
    run = ask(context)
    assert (run.state, run.reuse, run.taken_from) == (State.PENDING, Reuse.CHECKED, None)


def test_of_several_runs_those_that_have_not_changed_take_their_results(context: Context, done: int) -> None:
    """Forces the order: of three equal runs, one is stopped and one is told another source after the look."""
    key = str(read(context, done).reuse_key)
    ids = [create(context, small_experiment(outputs=OUTPUTS, reuse=True))[0] for _ in range(3)]
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id == ids[1])
    with transaction(context.engine) as db:
        found = [Checked(ids[0], key, {}, done), Checked(ids[1], key, {}, done), Checked(ids[2], "another", {}, done)]
        assert stored_reuse.take_results(db, found) == {ids[0]}
    assert [read(context, run_id).taken_from for run_id in ids] == [done, None, None]
    check_waiting_runs(context)
    assert [read(context, run_id).taken_from for run_id in ids] == [done, None, done]


def test_a_run_that_was_asked_to_stop_takes_nothing(context: Context, done: int) -> None:
    (run_id,) = create(context, small_experiment(outputs=OUTPUTS, reuse=True))
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id == run_id)
    check_waiting_runs(context)
    assert read(context, run_id).state is State.QUEUED  # the tick `cancel` ends it


def with_input(path: Path) -> dict[str, Any]:
    return {"inputs": {"data": str(path)}}


def test_a_changed_byte_of_an_input_is_another_run(context: Context, tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    data.write_text("a\tb\n")
    first = ask(context, **with_input(data))
    assert first.state is State.PENDING
    finish(context, first.id, WEIGHTS)
    assert ask(context, **with_input(data)).taken_from == first.id
    data.write_text("a\tc\n")
    changed = ask(context, **with_input(data))
    assert (changed.state, changed.taken_from) == (State.PENDING, None)
    assert changed.input_hashes != first.input_hashes
    data.write_text("a\tb\n")
    assert ask(context, **with_input(data)).taken_from == first.id


def test_an_input_that_this_host_does_not_see_lets_the_run_be_carried_out(context: Context, tmp_path: Path) -> None:
    run = ask(context, **with_input(tmp_path / "on-the-nodes"))
    assert (run.state, run.reuse_key, run.input_hashes) == (State.PENDING, None, None)


def test_an_input_is_read_again_only_if_its_status_changed(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data.tsv"
    data.write_text("a\tb\n")
    later = file_hashes.now_ns() + 5_000_000_000  # the file is no longer young
    monkeypatch.setattr("scheduler.artifacts.input_hashes.now_ns", lambda: later)
    reads: list[str] = []
    real = input_hashes.hash_file
    monkeypatch.setattr(input_hashes, "hash_file", lambda *words: reads.append(words[1]) or real(*words))
    for _ in range(2):
        ask(context, **with_input(data))
    assert reads == ["data.tsv"]
    data.write_text("a\tc\n")
    ask(context, **with_input(data))
    assert reads == ["data.tsv", "data.tsv"]


def test_the_hash_of_a_file_that_has_just_changed_is_not_stored(context: Context, tmp_path: Path) -> None:
    """Forces the fault: a file that changes twice within the resolution of its times."""
    (tmp_path / "data.tsv").write_text("a")
    ask(context, **with_input(tmp_path / "data.tsv"))
    with snapshot(context.engine) as db:
        assert db.scalars(select(FileHash)).all() == []


def test_the_files_of_a_deleted_run_are_gone_for_those_that_took_its_result(context: Context, done: int) -> None:
    taken = ask(context)
    with transaction(context.engine) as db:
        deletion.mark_runs(db, Run.id == done)
        db.execute(update(Run).where(Run.id == done).values(current_job_id=None))
    delete(context)
    with snapshot(context.engine) as db:
        (model,) = artifacts.of_run(db, taken.id)
        assert artifacts.outputs_of(db, [taken.id]) == {}
        found, _ = curves.of_run(db, taken.id, ["loss"], after=-1, limit=100)
    assert model.removed_because is RemovalCause.RUN_DELETED
    assert tuple(found["loss"][1]) == LOSSES  # its curves are its own
