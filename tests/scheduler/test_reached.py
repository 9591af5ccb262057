"""The step that an attempt itself reached, beside the one that its run has stored."""

from contract.folder.events import Points, Resumed
from contract.lifecycle.job_end import EndKind
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from tests.testing.clusters import Far
from tests.testing.events import STARTED, report
from tests.testing.runs import ended_attempts, read, report_gone


def points(step: int, attempt: int) -> Points:
    return Points(attempt=attempt, at=0.0, step=step, values={"loss": 1.0})


def test_an_attempt_that_repeats_steps_has_reached_its_own_step(
    far_context: Context, far: Far, far_run_id: int
) -> None:
    report(far_context, far_run_id, STARTED, points(175, 1))
    ingest(far_context)
    report_gone(far_context, far, far_run_id, gone(EndKind.PREEMPTED))
    submit_queued(far_context)
    report(far_context, far_run_id, STARTED.model_copy(update={"attempt": 2}))
    report(far_context, far_run_id, Resumed(attempt=2, at=0.0, step=100, lost_steps=75), points(147, 2))
    ingest(far_context)
    report_gone(far_context, far, far_run_id, gone(EndKind.PREEMPTED))
    assert read(far_context, far_run_id).step == 175
    assert [(job.exit_step, job.reached_step) for job in ended_attempts(far_context, far_run_id)] == [
        (175, 175),
        (175, 147),
    ]
