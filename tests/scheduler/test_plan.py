"""The plan tick: steps begin when what they need has ended, get their runs once, and end."""

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from contract.lifecycle.state import State
from scheduler.context import Context
from scheduler.ticks.plan import plan
from store.lifecycle.going_on import retry
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Run
from store.tables.steps import Step, StepMove
from tests.testing.workflows import (
    end_run,
    end_step_runs,
    engine,
    post_workflow,
    program,
    runs_of,
    states_of,
    step,
    steps_of,
    write_output,
)

SHARDS = "{steps.prepare.outputs.shards}"
PREPARE = step("prepare", program(outputs={"shards": "out/shards.json"}))
WORK = step("work", program("work {shard}", parameters={"shard": ""}), over={"parameters.shard": SHARDS})


def reason(context: Context, name: str) -> dict[str, Any]:
    """Return the reason of a step's state as data."""
    found = steps_of(context)[name].reason
    return {} if found is None else found.model_dump(mode="json")


def fail_late(context: Context) -> None:
    """Let files count as absent: the step that should have written them ended long ago."""
    with transaction(context.engine) as db:
        db.execute(update(Step).where(Step.ended_at.is_not(None)).values(ended_at=now() - timedelta(minutes=1)))
    plan(context)


def test_steps_begin_one_after_the_other_and_take_figures_of_those_before(context: Context) -> None:
    rates = {"kind": "constant", "rate": "{steps.tune.best.spec.schedule.rate}"}
    post_workflow(
        context,
        step("tune", engine(), axes={"schedule.rate": [0.1, 0.2, 0.4]}),
        step("train", engine(schedule=rates), axes={"seed": [0, 1]}),
        step(
            "report",
            program("report {steps.train.all.heldout_accuracy} {best}", parameters={"best": "{steps.train.best.run}"}),
        ),
    )
    assert states_of(context) == {"tune": "running", "train": "waiting", "report": "waiting"}
    plan(context)
    first, second, third = runs_of(context, "tune")
    assert runs_of(context, "train") == []
    end_run(context, first, heldout_accuracy=0.5)
    end_run(context, second, heldout_accuracy=0.9)
    plan(context)
    assert states_of(context)["train"] == "waiting"
    end_run(context, third, heldout_accuracy=0.7)
    plan(context)
    assert states_of(context) == {"tune": "done", "train": "running", "report": "waiting"}
    trained = runs_of(context, "train")
    assert [(run.number, run.spec["schedule"]["rate"], run.values) for run in trained] == [
        (3, 0.2, {"seed": 0}),
        (4, 0.2, {"seed": 1}),
    ]
    for run, accuracy in zip(trained, (0.75, 0.5), strict=True):
        end_run(context, run, heldout_accuracy=accuracy)
    plan(context)
    (report,) = runs_of(context, "report")
    assert report.spec["command"] == "report 0.75 0.5 {best}"
    assert report.spec["parameters"] == {"best": trained[0].id}
    end_run(context, report)
    plan(context)
    assert set(states_of(context).values()) == {"done"}
    with snapshot(context.engine) as db:
        history = list(
            db.execute(select(StepMove.old, StepMove.new).where(StepMove.step_id == steps_of(context)["train"].id))
        )
    assert [tuple(move) for move in history] == [(None, "waiting"), ("waiting", "running"), ("running", "done")]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('["a b", {"x": 1}, 3]', ["a b", {"x": 1}, 3]),
        ("a b\n\n  0.1\n-2e3\n007\n", ["a b", 0.1, -2000.0, "007"]),
        ('[1, 2.5, "x"]', [1, 2.5, "x"]),
    ],
)
def test_each_value_of_a_list_that_a_step_wrote_is_a_run(context: Context, text: str, values: list[Any]) -> None:
    post_workflow(context, PREPARE, WORK)
    (run,) = runs_of(context, "prepare")
    write_output(context, run, "out/shards.json", text)
    end_run(context, run)
    plan(context)
    assert [run.spec["parameters"]["shard"] for run in runs_of(context, "work")] == values
    assert [run.values for run in runs_of(context, "work")] == [{"parameters.shard": value} for value in values]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(list(range(1_000_000))), f"{SHARDS} has 1,000,000 values, more than the limit of 10,000 runs"),
        ("[" + "1" * 40_000_000 + "]", "the file has 40,000,002 bytes, and at most 33,554,432 are read"),
        ('{"a": 1}', "the file has one JSON object, and a list is needed"),
        ("[1, NaN]", "NaN is no number of JSON"),
        ("[1, 2", "the file begins as JSON and is none"),
        ("[" * 100_000, "the file begins as JSON and is none"),
        ('[{"kind": "x"}, "a\\u0000"]', "has a NUL character"),
    ],
    ids=["a million values", "a huge file", "an object", "no number", "half a list", "deeply nested", "a NUL"],
)
def test_a_list_that_cannot_be_runs_fails_the_step_with_the_reason(context: Context, text: str, message: str) -> None:
    post_workflow(context, PREPARE, WORK)
    (run,) = runs_of(context, "prepare")
    write_output(context, run, "out/shards.json", text)
    end_run(context, run)
    plan(context)
    assert states_of(context)["work"] == "failed"
    assert message in reason(context, "work")["message"]
    assert runs_of(context, "work") == []


def test_an_empty_list_gives_a_step_without_runs_that_is_done(context: Context) -> None:
    post_workflow(context, PREPARE, WORK, step("after", needs=["work"]))
    (run,) = runs_of(context, "prepare")
    write_output(context, run, "out/shards.json", "[]")
    end_run(context, run)
    plan(context)
    plan(context)
    assert states_of(context) == {"prepare": "done", "work": "done", "after": "running"}
    assert reason(context, "work") == {"kind": "empty_list", "reference": SHARDS}


def test_an_output_whose_file_is_gone_fails_the_step_once_no_file_system_can_hide_it(context: Context) -> None:
    post_workflow(context, PREPARE, WORK)
    end_step_runs(context, "prepare")
    plan(context)
    assert states_of(context)["work"] == "waiting", "a shared file system may show the file later"
    fail_late(context)
    (run,) = runs_of(context, "prepare")
    assert states_of(context)["work"] == "failed"
    path = f"{context.folder_of(run).path}/out/shards.json"
    assert reason(context, "work")["message"] == f"{SHARDS}: the file {path} of run {run.id} is gone"


def test_a_link_in_place_of_an_output_is_not_followed(context: Context, tmp_path: Any) -> None:
    (tmp_path / "secret").write_text("[1]")
    post_workflow(context, PREPARE, WORK)
    (run,) = runs_of(context, "prepare")
    write_output(context, run, "out/other", "")
    (context.folder_of(run).path / "out/shards.json").symlink_to(tmp_path / "secret")
    end_run(context, run)
    plan(context)
    fail_late(context)
    assert states_of(context)["work"] == "failed"


@pytest.mark.parametrize(
    ("loss", "state"), [(1.5, "running"), (2.5, "skipped")], ids=["the condition holds", "it does not hold"]
)
def test_a_condition_on_a_figure_decides_whether_the_step_runs(context: Context, loss: float, state: str) -> None:
    post_workflow(
        context,
        step("probe"),
        step("train", when="steps.probe.best.loss < 2"),
        step("after", needs=["train"]),
    )
    end_step_runs(context, "probe", loss=loss)
    plan(context)
    assert states_of(context)["train"] == state
    assert states_of(context)["after"] == ("skipped" if state == "skipped" else "waiting")
    if state == "skipped":
        assert reason(context, "train")["comparison"] == "steps.probe.best.loss = 2.5 < 2 does not hold"
        assert reason(context, "after") == {"kind": "need_ended", "step": "train", "state": "skipped"}


def test_a_condition_on_a_figure_that_no_run_has_fails_the_step(context: Context) -> None:
    post_workflow(context, step("probe"), step("train", when="steps.probe.best.loss < 2"))
    end_step_runs(context, "probe", accuracy=0.5)
    plan(context)
    assert states_of(context)["train"] == "failed"
    message = "{steps.probe.best.loss}: no run of step probe that is done has the metric loss"
    assert reason(context, "train")["message"] == message


@pytest.mark.parametrize(
    ("on_failure", "states"),
    [
        ("fail", {"b": "cancelled", "z": "cancelled"}),
        ("skip", {"b": "skipped", "z": "running"}),
        ("continue", {"b": "running", "z": "running"}),
    ],
)
def test_the_failure_of_a_run_ends_the_experiment_skips_or_goes_on(
    context: Context, on_failure: str, states: dict[str, str]
) -> None:
    two = step("a", program(parameters={"x": 0}), axes={"parameters.x": [1, 2]}, on_failure=on_failure)
    of_a = step("b", program("see {steps.a.all.folder}"))
    post_workflow(context, two, of_a, step("y"), step("z", needs=["y"]))
    good, bad = runs_of(context, "a")
    end_run(context, good)
    end_run(context, bad, State.FAILED)
    end_step_runs(context, "y")
    plan(context)
    found = states_of(context)
    assert found == {"a": "failed", "y": "done", **states}
    if on_failure == "continue":
        assert runs_of(context, "b")[0].spec["command"] == f"see {context.folder_of(good).path}"


@pytest.mark.parametrize("on_failure", ["fail", "skip"])
def test_a_retry_of_the_failed_run_lets_the_workflow_go_on(context: Context, on_failure: str) -> None:
    post_workflow(context, step("a", on_failure=on_failure), step("b", needs=["a"]), step("c", needs=["b"]))
    end_step_runs(context, "a", State.FAILED)
    plan(context)
    plan(context)
    assert states_of(context)["c"] in ("cancelled", "skipped")
    (run,) = runs_of(context, "a")
    with transaction(context.engine) as db:
        retry(db, Run.id == run.id, [State.FAILED], by="ada")
    assert states_of(context) == {"a": "running", "b": "waiting", "c": "waiting"}
    end_run(context, run)
    plan(context)
    assert states_of(context) == {"a": "done", "b": "running", "c": "waiting"}


def test_a_step_that_ran_before_gets_no_runs_again(context: Context) -> None:
    """Forces the order: a done run goes on when the steps after it have their runs already."""
    post_workflow(context, step("a", on_failure="continue"), step("b", needs=["a"]))
    end_step_runs(context, "a", State.FAILED)
    plan(context)
    assert len(runs_of(context, "b")) == 1
    (run,) = runs_of(context, "a")
    with transaction(context.engine) as db:
        retry(db, Run.id == run.id, [State.FAILED], by=None)
    end_run(context, run)
    plan(context)
    assert states_of(context) == {"a": "done", "b": "running"}
    assert len(runs_of(context, "b")) == 1


def test_a_value_that_does_not_fit_is_named_when_it_is_known(context: Context) -> None:
    post_workflow(context, step("probe"), step("train", engine(batch="{steps.probe.best.batch}")))
    end_step_runs(context, "probe", batch=7.0)
    plan(context)
    assert states_of(context)["train"] == "failed"
    assert reason(context, "train")["message"] == "base.batch: batch 7 does not divide over 2 ranks"


@pytest.mark.ring("all")
def test_an_experiment_has_at_most_so_many_runs_however_they_come(context: Context) -> None:
    post_workflow(
        context,
        PREPARE,
        {**WORK, "base": program("{shard}", parameters={"shard": 0})},
        step("more", axes={"parameters.x": [1, 2]}, base=program(parameters={"x": 0})),
    )
    (run,) = runs_of(context, "prepare")
    write_output(context, run, "out/shards.json", json.dumps(list(range(10_000))))
    end_run(context, run)
    plan(context)
    assert states_of(context)["work"] == "failed"
    assert "would have 3 + 10,000 = 10,003 runs" in reason(context, "work")["message"]


def test_a_workflow_that_cannot_be_planned_holds_up_no_other(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: the decision about the first workflow raises."""
    for _ in range(2):
        post_workflow(context, step("a"), step("b", needs=["a"]))
    for experiment_id in (1, 2):
        end_step_runs(context, "a", experiment_id=experiment_id)
    from scheduler.ticks import plan as module

    real = module._plan_workflow

    def broken(context: Context, steps: Any, *arguments: Any) -> None:
        if steps[0].experiment_id == 1:
            raise RuntimeError("broken")
        real(context, steps, *arguments)

    monkeypatch.setattr(module, "_plan_workflow", broken)
    plan(context)
    assert states_of(context, 1)["b"] == "waiting"
    assert states_of(context, 2)["b"] == "running"
