"""Steps whose inputs are files of other steps: what the files contain decides whether a step is carried out again."""

from collections.abc import Collection
from typing import Any

import pytest
from sqlalchemy import select

from contract.lifecycle.state import State
from scheduler.context import Context
from scheduler.ticks.plan import plan
from scheduler.ticks.reuse import check_waiting_runs
from store.artifacts.nearest import nearest_finished
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.runs import Run
from store.tables.steps import Step
from tests.testing.workflows import end_run, post_workflow, program, runs_of, states_of, step, workflow, write_output

ANY: dict[str, Any] = {"code": "0" * 64, "reuse": True, "outputs": {"out": "out.txt"}}


def chain(context: Context, word: str, forced: Collection[str] = ()) -> int:
    """Post a -> b -> c, of which each reads the file that the one before it wrote; return the experiment's id."""
    spec = workflow(
        step("a", program("write {word} > {outputs.out}", parameters={"word": word}, **ANY)),
        step("b", program("sort {steps.a.outputs.out} > {outputs.out}", **ANY)),
        step("c", program("report --from={steps.b.outputs.out} > {outputs.out}", **ANY)),
    )
    with transaction(context.engine) as db:
        return creation.create(db, spec, carried_out=forced)[0]


def end(context: Context, name: str, experiment_id: int, text: str) -> Run:
    """End the run of a step, which wrote this text, and let the planner look."""
    check_waiting_runs(context)
    (run,) = runs_of(context, name, experiment_id)
    assert run.state is State.QUEUED, "it was to be carried out"
    write_output(context, run, "out.txt", text)
    end_run(context, run)
    plan(context)
    return run


def carried_out(context: Context, experiment_id: int) -> set[str]:
    """Return the names of the steps with a run that took no result."""
    with snapshot(context.engine) as db:
        query = select(Step.name).join(Run, Run.step_id == Step.id)
        return set(db.scalars(query.where(Run.experiment_id == experiment_id, Run.taken_from.is_(None))))


def test_a_workflow_whose_steps_all_have_results_is_done_in_one_tick(context: Context) -> None:
    first = chain(context, "one")
    for name in ("a", "b", "c"):
        end(context, name, first, name)
    second = chain(context, "one")
    check_waiting_runs(context)
    assert states_of(context, second) == dict.fromkeys("abc", "done")
    assert carried_out(context, second) == set()


@pytest.mark.ring("all")
def test_the_step_to_begin_at_and_those_that_need_it_are_carried_out_and_count_as_newest(context: Context) -> None:
    first = chain(context, "one")
    for name in ("a", "b", "c"):
        end(context, name, first, name)
    second = chain(context, "one", forced=["b", "c"])
    for name in ("b", "c"):
        end(context, name, second, name)
    assert states_of(context, second) == dict.fromkeys("abc", "done")
    assert carried_out(context, second) == {"b", "c"}
    third = chain(context, "one")
    check_waiting_runs(context)
    taken = {runs_of(context, name, third)[0].taken_from for name in "bc"}
    assert taken == {runs_of(context, name, second)[0].id for name in "bc"}


def test_a_step_is_not_carried_out_again_if_the_files_that_it_reads_are_equal(context: Context) -> None:
    first = chain(context, "one")
    for name in ("a", "b", "c"):
        end(context, name, first, f"the text of {name}")
    second = chain(context, "two")
    end(context, "a", second, "the text of a")  # in another folder
    check_waiting_runs(context)
    assert states_of(context, second) == dict.fromkeys("abc", "done")
    assert carried_out(context, second) == {"a"}


def test_a_changed_file_carries_its_descendants_out_and_is_the_reason(context: Context) -> None:
    first = chain(context, "one")
    for name in ("a", "b", "c"):
        end(context, name, first, f"the text of {name}")
    second = chain(context, "two")
    end(context, "a", second, "another text")
    run = end(context, "b", second, "the text of b")
    with snapshot(context.engine) as db:
        nearest = nearest_finished(db, db.get_one(Run, run.id))
    assert nearest is not None
    assert (nearest.id, nearest.spec, list(nearest.inputs)) == (
        runs_of(context, "b", first)[0].id,
        [],
        ["steps.a.outputs.out"],
    )
    check_waiting_runs(context)
    assert states_of(context, second) == dict.fromkeys("abc", "done")
    assert carried_out(context, second) == {"a", "b"}, "b wrote what it wrote before"


def test_a_longer_path_that_begins_like_an_output_is_another_file(context: Context) -> None:
    first = chain(context, "one")
    for name in ("a", "b", "c"):
        end(context, name, first, name)
    (a,) = runs_of(context, "a", first)
    folder = context.folder_of(a).path
    for place in (f"{folder}/out.txt.old", f"{folder}/out.txt-2"):
        (run_id,) = [post_workflow(context, step("b", program(f"sort {place} > {{outputs.out}}", **ANY)))]
        check_waiting_runs(context)
        assert carried_out(context, run_id) == {"b"}
