"""Moments of steps: a step ends with its runs, not when the tick that plans looks at them."""

from datetime import timedelta

from sqlalchemy import select, update

from scheduler.context import Context
from scheduler.ticks.plan import plan
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Run
from store.tables.steps import Step, StepMove
from tests.testing.workflows import end_run, engine, post_workflow, runs_of, step, steps_of


def test_a_step_ends_with_the_last_of_its_runs_however_late_the_tick_comes(context: Context) -> None:
    """The service was off while the runs trained: the step took as long as they, not until the service returned."""
    post_workflow(context, step("tune", engine(), axes={"seed": [0, 1, 2]}))
    plan(context)
    begun = now() - timedelta(hours=2)
    ends = [begun + timedelta(seconds=10 * number) for number in (1, 3, 2)]
    for run, end in zip(runs_of(context, "tune"), ends, strict=True):
        end_run(context, run, heldout_accuracy=0.5)
        with transaction(context.engine) as db:
            db.execute(update(Step).values(expanded_at=begun))
            db.get_one(Run, run.id).ended_at = end
    plan(context)
    tune = steps_of(context)["tune"]
    assert (tune.state, tune.ended_at) == ("done", max(ends))
    with snapshot(context.engine) as db:
        moves = select(StepMove.at).where(StepMove.step_id == tune.id).order_by(StepMove.id.desc()).limit(1)
        assert db.scalar(moves) == tune.ended_at
