"""A worker that is killed while it takes results: all runs of a transaction have theirs or none, whatever the line."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from contract.lifecycle.reuse import Reuse
from contract.lifecycle.state import State
from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.ticks.plan import plan
from scheduler.ticks.reuse import check_waiting_runs
from store.session import engine_for, snapshot
from store.tables.artifacts import Artifact
from store.tables.points import Figure
from store.tables.runs import Move, Run
from store.tables.steps import Step, StepMove
from tests.testing.faults.kill_points import die_at, last_of_lines, watched
from tests.testing.workflows import end_run, post_workflow, program, runs_of, states_of, step, write_output

KILLED_IN = ("reuse.py", "copies.py")  # tests/faults/test_plan_kills.py has the others
ANY: dict[str, Any] = {"code": "0" * 64, "reuse": True, "outputs": {"out": "out.txt"}}
RUNS = {"fan": 3, "a": 1, "b": 1}


def post(context: Context) -> int:
    """Post a fan-out of three runs, and two steps that read its files."""
    fan = step("fan", program("work {x}", parameters={"x": 0}, **ANY), axes={"parameters.x": [1, 2, 3]})
    readers = [step(name, program(f"{name} {{steps.fan.all.outputs.out}}", **ANY)) for name in ("a", "b")]
    return post_workflow(context, fan, *readers)


@pytest.mark.ring("all")
def test_a_worker_killed_at_any_line_leaves_no_run_with_a_half_of_a_result(
    sqlite_engine: Engine, tmp_path: Path
) -> None:
    """Forces the fault: SIGKILL at each line of the tick in which a workflow takes the results of its first time."""
    context = Context(sqlite_engine, {"local": Local()}, tmp_path / "runs", local_ranks=2)
    first = post(context)
    for names in (["fan"], ["a", "b"]):
        check_waiting_runs(context)
        for run in (run for name in names for run in runs_of(context, name, first)):
            write_output(context, run, "out.txt", f"the text of {run.number}")
            end_run(context, run, loss=float(run.number))
        plan(context)
    again = post(context)
    sqlite_engine.dispose()
    before = Path(str(sqlite_engine.url.database))
    points = _points(before, context)
    assert len(points) > 50
    for number, point in enumerate(points):
        after = Path(shutil.copy(before, tmp_path / f"{number}.db"))
        killed = replace(context, engine=engine_for(f"sqlite:///{after}"))
        die_at(point, partial(check_waiting_runs, killed))
        _check_whole(killed, again, point)
        for _ in range(4):  # killed when the fan-out was to end, the tick `plan` lets it end
            check_waiting_runs(killed)
            if set(states_of(killed, again).values()) == {"done"}:
                break
            plan(killed)
        assert states_of(killed, again) == dict.fromkeys(RUNS, "done"), point
        _check_done(killed, again, point)
        killed.engine.dispose()
        after.unlink()


def _points(before: Path, context: Context) -> list[str]:
    seen: list[str] = []
    copied = shutil.copy(before, before.with_name("seen.db"))
    other = replace(context, engine=engine_for(f"sqlite:///{copied}"))
    with watched(seen.append):
        check_waiting_runs(other)
    other.engine.dispose()
    for file in KILLED_IN:
        assert last_of_lines(seen, (file,)), file
    return last_of_lines(seen, KILLED_IN)


def _check_whole(context: Context, experiment_id: int, point: str) -> None:
    """Each run of a step is as it was or has the whole result, and all runs of a step are the same."""
    with snapshot(context.engine) as db:
        rows = db.scalars(select(Run).where(Run.experiment_id == experiment_id)).all()
        for name in RUNS:
            step_id = db.scalar(select(Step.id).where(Step.name == name, Step.experiment_id == experiment_id))
            assert len({run.state for run in rows if run.step_id == step_id}) <= 1, point
        for run in rows:
            content = [
                db.scalar(select(func.count()).where(table.run_id == run.id)) for table in (Move, Artifact, Figure)
            ]
            if run.state is State.DONE:
                assert (run.reuse, run.taken_from is not None, content) == (Reuse.CHECKED, True, [2, 1, 1]), point
            else:
                expected = (State.QUEUED, Reuse.WANTED, None, [1, 0, 0])
                assert (run.state, run.reuse, run.taken_from, content) == expected, point


def _check_done(context: Context, experiment_id: int, point: str) -> None:
    """Each run took the result of its own equal, once, and each step moved once."""
    with snapshot(context.engine) as db:
        for name, count in RUNS.items():
            found = runs_of(context, name, experiment_id)
            sources = {run.id: run.number for run in runs_of(context, name, 1)}
            assert [run.number for run in found] == [sources[run.taken_from or 0] for run in found], point
            assert len(found) == count, point
            moves = select(StepMove.new).where(StepMove.step_id == found[0].step_id).order_by(StepMove.id)
            assert db.scalars(moves).all() == ["waiting", "running", "done"], point
            for run in found:
                mine = select(Move.new).where(Move.run_id == run.id).order_by(Move.id)
                assert db.scalars(mine).all() == ["queued", "done"], point
                assert db.scalars(select(Figure.last).where(Figure.run_id == run.id)).all() == [run.number], point
                assert len(db.scalars(select(Artifact).where(Artifact.run_id == run.id)).all()) == 1, point
