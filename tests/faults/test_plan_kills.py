"""A worker that is killed while it plans: each step gets its runs once, all of them, whatever line it is killed at."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine

from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.ticks.plan import plan
from store.session import engine_for
from tests.testing.faults.kill_points import die_at, last_of_lines, watched
from tests.testing.workflows import end_step_runs, post_workflow, program, runs_of, states_of, step

KILLED_IN = ("plan.py", "expand.py", "resolve.py", "new_steps.py", "transitions.py", "new_runs.py", "session.py")
A = step("a")
FAN_OUT = step(
    "b", program("work {x}", parameters={"x": 0, "of": "{steps.a.folder}"}), axes={"parameters.x": [1, 2, 3]}
)
LAST = step("c", program("report {steps.b.all.folder}"))


@pytest.mark.ring("all")
def test_a_worker_killed_at_any_line_of_the_tick_leaves_each_step_with_its_runs_once(
    sqlite_engine: Engine, tmp_path: Path
) -> None:
    """Forces the fault: SIGKILL at each line of the tick at which a step ends and the next one gets its runs."""
    context = Context(sqlite_engine, {"local": Local()}, tmp_path / "runs", local_ranks=2)
    post_workflow(context, A, FAN_OUT, LAST)
    end_step_runs(context, "a")
    sqlite_engine.dispose()
    before = Path(str(sqlite_engine.url.database))
    points = _points(before, context)
    assert len(points) > 60
    for number, point in enumerate(points):
        after = _copy(before, tmp_path / f"{number}.db")
        killed = replace(context, engine=engine_for(f"sqlite:///{after}"))
        die_at(point, partial(plan, killed))
        plan(killed)
        assert states_of(killed) == {"a": "done", "b": "running", "c": "waiting"}, point
        found = runs_of(killed, "b")
        assert [run.values for run in found] == [{"parameters.x": x} for x in (1, 2, 3)], point
        assert [run.number for run in found] == [1, 2, 3], point
        killed.engine.dispose()
        after.unlink()


def _points(before: Path, context: Context) -> list[str]:
    seen: list[str] = []
    copied = _copy(before, before.with_name("seen.db"))
    other = replace(context, engine=engine_for(f"sqlite:///{copied}"))
    with watched(seen.append):
        plan(other)
    other.engine.dispose()
    for file in ("plan.py", "new_steps.py", "transitions.py", "expand.py"):
        assert last_of_lines(seen, (file,)), file
    return last_of_lines(seen, KILLED_IN)


def _copy(before: Path, after: Path) -> Path:
    shutil.copy(before, after)
    return after
