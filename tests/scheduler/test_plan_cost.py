"""What a tick of the planner costs: few rows and few steps of the database, however many runs a workflow has."""

import pytest
from sqlalchemy import Engine, insert, update

from contract.lifecycle.state import State
from contract.lifecycle.step import StepState
from scheduler.context import Context
from scheduler.ticks.plan import plan
from store.session import transaction
from store.tables.runs import Run
from store.tables.steps import Step
from tests.testing.statements import Statement, counted_steps, recorded
from tests.testing.workflows import end_step_runs, post_workflow, program, runs_of, states_of, step, steps_of

STEPS, RUNS = 100, 10_000


@pytest.fixture
def large(context: Context) -> Context:
    """A workflow of a hundred steps, of which one has ten thousand runs that have not all ended."""
    chain = [step(f"s{number}", needs=[f"s{number - 1}"]) for number in range(1, STEPS)]
    post_workflow(context, step("s0", program(parameters={"x": 0}), axes={"parameters.x": list(range(4))}), *chain)
    first = runs_of(context, "s0")[0]
    columns = {column.key: getattr(first, column.key) for column in Run.__mapper__.column_attrs}
    columns = {name: value for name, value in columns.items() if name not in ("id", "key", "number", "jobs")}
    rows = [{**columns, "number": number, "key": f"k{number}", "state": State.DONE} for number in range(4, RUNS)]
    with transaction(context.engine) as db:
        db.execute(insert(Run), rows)
    return context


@pytest.mark.ring("all")
def test_a_tick_over_ten_thousand_runs_reads_counts_and_no_run(large: Context) -> None:
    with recorded(large.engine) as found:
        plan(large)
    statements = [one for same in found.values() for one in same if one.sql.startswith("SELECT")]
    rows = {one.sql: _rows(large.engine, one) for one in statements}
    assert sum(rows.values()) <= STEPS + 2 * len(State), rows
    assert len(statements) <= 3, [one.sql for one in statements]
    assert steps_of(large)["s0"].runs == {State.QUEUED: 4, State.DONE: RUNS - 4}


@pytest.mark.ring("all")
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_the_counts_come_from_an_index_alone(large: Context) -> None:
    """SQLite counts its steps: about ten for each entry of the index, and none for the rows with their specs."""
    with recorded(large.engine) as found:
        plan(large)
    counting = [one for same in found.values() for one in same if "GROUP BY runs.step_id" in one.sql]
    assert len(counting) == 1
    with large.engine.connect() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {counting[0].sql}", counting[0].parameters).all()
    assert any("USING COVERING INDEX ix_runs_step" in str(row[-1]) for row in rows), rows
    assert max(counted_steps(large.engine, counting).values()) < 20 * RUNS


@pytest.mark.ring("all")
def test_a_service_without_open_workflows_asks_once(large: Context) -> None:
    with transaction(large.engine) as db:
        db.execute(update(Step).values(state=StepState.DONE))
    with recorded(large.engine) as found:
        plan(large)
    assert [sql.startswith("SELECT") for sql in found] == [True]


def _rows(engine: Engine, statement: Statement) -> int:
    with engine.connect() as connection:
        return len(connection.exec_driver_sql(statement.sql, statement.parameters).all())


def test_a_tick_whose_time_is_used_leaves_further_steps_to_the_next(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the end of the budget after the first change of a step."""
    post_workflow(context, step("a"), *[step(name, program("echo {steps.a.run}")) for name in ("b", "c", "d")])
    end_step_runs(context, "a")
    looks = iter([False] * 4 + [True])  # the workflow, a ends, then steps: b begins
    monkeypatch.setattr("scheduler.ticks.plan.Budget.is_used", lambda _: next(looks, True))
    plan(context)
    monkeypatch.undo()
    first = states_of(context)
    assert first["a"] == "done"
    assert list(first.values()).count("waiting") in (2, 3)
    plan(context)
    assert states_of(context) == {"a": "done", "b": "running", "c": "running", "d": "running"}
