"""What the second time of a workflow costs: statements for each level of steps, and none for each run."""

from collections.abc import Collection, Sequence
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.lifecycle.artifact import ArtifactKind
from contract.lifecycle.reuse import Reuse
from contract.lifecycle.state import State
from scheduler.context import Context
from scheduler.ticks import reuse
from scheduler.ticks.plan import plan
from scheduler.ticks.reuse import check_waiting_runs
from store.artifacts import reuse as taking
from store.artifacts.reuse import Checked
from store.session import snapshot
from store.tables.runs import Run
from tests.testing.statements import executed
from tests.testing.workflows import end_run, post_workflow, program, runs_of, states_of, step, write_output

ANY: dict[str, Any] = {"code": "0" * 64, "reuse": True, "outputs": {"out": "out.txt"}}
LEVELS, MOST_OF_LEVEL = 4, 55


def post(context: Context, width: int, name: str = "a") -> int:
    """Post a fan-out, as many steps that read all of its files, as many that read one file each, and a report."""
    fan = step("fan", program(f"{name} {{x}}", parameters={"x": 0}, **ANY), axes={"parameters.x": list(range(width))})
    wide = [step(f"w{at}", program(f"w{at} {{steps.fan.all.outputs.out}}", **ANY)) for at in range(width)]
    deep = [step(f"d{at}", program(f"d{at} {{steps.w{at}.outputs.out}}", **ANY)) for at in range(width)]
    files = " ".join(f"{{steps.d{at}.outputs.out}}" for at in range(width))
    return post_workflow(context, fan, *wide, *deep, step("report", program(f"report {files}", **ANY)))


def carry_out(context: Context, width: int, experiment_id: int) -> None:
    """Carry the workflow out, level by level."""
    for names in (["fan"], *([f"{level}{at}" for at in range(width)] for level in "wd"), ["report"]):
        check_waiting_runs(context)
        plan(context)
        for name in names:
            for run in runs_of(context, name, experiment_id):
                write_output(context, run, "out.txt", f"the text of {name} {run.number}")
                end_run(context, run)
    plan(context)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no tick end early, however slow the machine is."""
    for name in ("BUDGET_S", "BUDGET_CPU_S"):
        monkeypatch.setattr(f"scheduler.ticks.plan.{name}", 1000.0)
    for name in ("BUDGET_S", "PART_S"):
        monkeypatch.setattr(reuse, name, 1000.0)


@pytest.mark.ring("all")
@pytest.mark.usefixtures("unhurried")
def test_the_statements_of_the_second_time_grow_with_the_levels_and_not_with_the_runs(context: Context) -> None:
    counts = {}
    for width in (3, 9):
        carry_out(context, width, post(context, width, f"work{width}"))
        again = post(context, width, f"work{width}")
        with executed(context.engine) as found:
            check_waiting_runs(context)
        counts[width] = len(found)
        assert set(states_of(context, again).values()) == {"done"}
        with snapshot(context.engine) as db:
            mine = (Run.experiment_id == again, Run.state == State.DONE, Run.taken_from.is_not(None))
            assert db.scalar(select(func.count()).where(*mine)) == 3 * width + 1
    assert counts[9] == counts[3], counts
    assert counts[9] <= LEVELS * MOST_OF_LEVEL, counts


@pytest.mark.ring("all")
@pytest.mark.usefixtures("unhurried")
def test_runs_that_are_ready_do_not_wait_for_others(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the case: each run takes longer to look at than ready ones wait."""
    carry_out(context, 3, post(context, 3))
    again = post(context, 3)
    monkeypatch.setattr(reuse, "PART_S", -1.0)
    stored: list[int] = []
    real = reuse._store

    def store(context: Context, settled: Sequence[Checked]) -> None:
        stored.append(len(settled))
        real(context, settled)

    monkeypatch.setattr(reuse, "_store", store)
    check_waiting_runs(context)
    assert set(states_of(context, again).values()) == {"done"}
    assert max(stored) == 1


@pytest.mark.usefixtures("unhurried")
def test_a_run_whose_result_cannot_be_stored_is_carried_out_and_holds_up_no_other(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the results of one of three runs cannot be copied."""
    carry_out(context, 3, post(context, 3))
    again = post(context, 3)
    first, faulty, last = [run.id for run in runs_of(context, "fan", again)]
    real = taking.copy_results

    def copy_results(db: Session, run_ids: Collection[int], kinds: Collection[ArtifactKind]) -> None:
        if faulty in run_ids:
            raise ValueError("this row is damaged")
        real(db, run_ids, kinds)

    monkeypatch.setattr(taking, "copy_results", copy_results)
    check_waiting_runs(context)
    found = {run.id: run for run in runs_of(context, "fan", again)}
    assert [found[run_id].state for run_id in (first, last)] == [State.DONE, State.DONE]
    assert (found[faulty].state, found[faulty].reuse, found[faulty].taken_from) == (State.QUEUED, Reuse.CHECKED, None)
