"""Runs that took a finished run's result: their files are in the folder of the run that wrote them."""

from typing import Any

from contract.folder.outputs.record import RecordedArtifact
from contract.lifecycle.artifact import ArtifactKind, RemovalCause
from scheduler.context import Context
from scheduler.ticks import prune as prune_module
from scheduler.ticks.plan import plan
from scheduler.ticks.prune import prune
from scheduler.ticks.reuse import check_waiting_runs
from store.artifacts import retention
from store.artifacts.artifacts import insert_artifacts, of_run
from store.artifacts.contents import with_hashes
from store.holders import holders_of
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.runs import make_older
from tests.testing.workflows import (
    end_run,
    engine,
    post_workflow,
    program,
    runs_of,
    states_of,
    step,
    steps_of,
    write_output,
)

ANY: dict[str, Any] = {"code": "0" * 64, "reuse": True, "outputs": {"out": "out.txt"}}
CHECKPOINT = "step-0000000022-attempt-1"


def post(context: Context, word: str, **fields: Any) -> int:
    """Post `train`, which may take a result, and `report` with a command of its own, which reads its files."""
    command = f"report {word} --weights {{steps.train.checkpoint}} --all {{steps.train.folder}}"
    return post_workflow(
        context,
        step("train", program("train", **{**ANY, **fields})),
        step("report", program(command, **ANY)),
    )


def carry_out(context: Context, experiment_id: int) -> None:
    """Carry out the step `train`, with a checkpoint and an output."""
    check_waiting_runs(context)
    (run,) = runs_of(context, "train", experiment_id)
    write_output(context, run, f"checkpoints/{CHECKPOINT}/manifest.json", "{}")
    write_output(context, run, "out.txt", "text")
    end_run(context, run)
    plan(context)


def test_checkpoint_and_folder_of_a_run_that_took_a_result_are_those_of_its_source(context: Context) -> None:
    first = post(context, "one")
    carry_out(context, first)
    (source,) = runs_of(context, "train", first)
    second = post(context, "two")
    check_waiting_runs(context)
    (taker,), (report,) = runs_of(context, "train", second), runs_of(context, "report", second)
    folder = context.folder_of(source).path
    assert taker.taken_from == source.id
    assert report.spec["command"] == f"report two --weights {folder}/checkpoints/{CHECKPOINT} --all {folder}"
    with snapshot(context.engine) as db:
        found = holders_of(db, [source.id, taker.id, 99])
    assert {id_: one.id for id_, one in found.items()} == {source.id: source.id, taker.id: source.id}


def test_a_step_that_needs_the_files_of_a_deleted_source_fails_with_the_reason(context: Context) -> None:
    first = post(context, "one")
    carry_out(context, first)
    (source,) = runs_of(context, "train", first)
    second = post_workflow(
        context,
        step("train", program("train", **ANY)),
        step("wait", program("wait")),
        step("report", program("report {steps.train.folder}"), needs=["wait"]),
    )
    check_waiting_runs(context)
    (taker,) = runs_of(context, "train", second)
    assert taker.taken_from == source.id
    with transaction(context.engine) as db:
        db.get_one(Run, source.id).deleted_at = now()
    (waiting,) = runs_of(context, "wait", second)
    end_run(context, waiting)
    plan(context)
    assert states_of(context, second)["report"] == "failed"
    reason = steps_of(context, second)["report"].reason
    assert "whose result was taken is deleted" in str(reason)
    with snapshot(context.engine) as db:
        assert holders_of(db, [source.id, taker.id]) == {}


def test_weights_of_a_run_that_took_a_result_are_its_sources(context: Context) -> None:
    train = engine(checkpoint={"at_end": True}, reuse=True)
    tune = engine(initial_weights={"run": "{steps.train.run}"}, epochs=3)
    ids = []
    for seed in (1, 2):
        ids.append(post_workflow(context, step("train", train), step("tune", {**tune, "seed": seed})))
        check_waiting_runs(context)
        (run,) = runs_of(context, "train", ids[0])
        if seed == 1:
            write_output(context, run, f"checkpoints/{CHECKPOINT}/manifest.json", "{}")
            end_run(context, run)
        plan(context)
    (source,), (tuned,) = runs_of(context, "train", ids[0]), runs_of(context, "tune", ids[1])
    weights = tuned.spec["initial_weights"]
    assert (weights["folder"], weights["checkpoint"]) == (str(context.folder_of(source).path), CHECKPOINT)


def test_what_weights_contain_counts_and_not_the_run_that_wrote_them(context: Context) -> None:
    experiment_id = post_workflow(context, step("train", engine(), axes={"seed": [0, 1, 2]}))
    documents = []
    for run, digest in zip(runs_of(context, "train", experiment_id), ("a" * 64, "a" * 64, "b" * 64), strict=True):
        path = f"checkpoints/{CHECKPOINT}"
        found = RecordedArtifact(
            name=CHECKPOINT, path=path, kind=ArtifactKind.CHECKPOINT, size_bytes=2, files=1, sha256=digest
        )
        with transaction(context.engine) as db:
            insert_artifacts(db, run.id, 1, [found])
        folder = str(context.folder_of(run).path)
        documents.append({"initial_weights": {"run": run.id, "folder": folder, "checkpoint": CHECKPOINT}})
    with snapshot(context.engine) as db:
        first, equal, other = with_hashes(db, documents)
    assert first == equal
    assert first != other


def test_outputs_that_are_removed_are_listed_as_removed_for_those_that_took_them_and_not_before_they_ended(
    context: Context, monkeypatch: Any
) -> None:
    monkeypatch.setattr(prune_module, "BUDGET_S", 60.0)
    keep = {"kind": "days", "days": 1.0}
    first = post(context, "one", keep=keep)
    carry_out(context, first)
    (last,) = runs_of(context, "report", first)
    end_run(context, last)
    plan(context)
    (source,) = runs_of(context, "train", first)
    second = post(context, "two", keep=keep)
    check_waiting_runs(context)
    assert states_of(context, second) == {"train": "done", "report": "running"}
    make_older(context, source.id, ended_at=2 * 24 * 3600.0)
    prune(context)
    out = context.folder_of(source).path / "out.txt"
    assert out.exists(), "the workflow that took the result has not ended"
    (taker,), (open_run,) = runs_of(context, "train", second), runs_of(context, "report", second)
    end_run(context, open_run)
    plan(context)
    prune(context)
    assert not out.exists()
    with snapshot(context.engine) as db:
        removed = [one.removed_because for run in (source, taker) for one in of_run(db, run.id) if one.name == "out"]
    assert removed == [RemovalCause.RETENTION] * 2


def test_outputs_stay_that_a_workflow_took_after_they_were_found_due(context: Context, monkeypatch: Any) -> None:
    """Forces the race: between the look for due outputs and their removal another worker takes the result."""
    monkeypatch.setattr(prune_module, "BUDGET_S", 60.0)
    first = post(context, "one", keep={"kind": "days", "days": 1.0})
    carry_out(context, first)
    (last,) = runs_of(context, "report", first)
    end_run(context, last)
    plan(context)
    (source,) = runs_of(context, "train", first)
    make_older(context, source.id, ended_at=2 * 24 * 3600.0)
    real, second = retention.due_runs, list[int]()

    def then_taken(db: Any, experiment_id: int, at: Any) -> list[int]:
        due = real(db, experiment_id, at)
        if due and not second:
            db.rollback()
            second.append(post(context, "two", keep={"kind": "days", "days": 1.0}))
            check_waiting_runs(context)
        return due

    monkeypatch.setattr(retention, "due_runs", then_taken)
    prune(context)
    (taker,) = runs_of(context, "train", second[0])
    assert taker.taken_from == source.id
    assert (context.folder_of(source).path / "out.txt").exists()
    with snapshot(context.engine) as db:
        assert [one.removed_at for one in of_run(db, taker.id) if one.name == "out"] == [None]
