"""Whether another attempt helps a run whose attempt reached its time limit."""

import math

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import Ending, LimitTooShort, NoProgress, RunPaused
from contract.spec.any_run import read_run
from contract.spec.resources import Slurm
from scheduler.outcome.facts import JobFacts, RunFacts

LEAST_SHARE = 0.1  # of the limit that an attempt trains; less in two attempts in a row: start-up takes the time


def refuse_after_time_limit(run: RunFacts, ending: Ending, retries_left: int) -> NoProgress | LimitTooShort | None:
    """Return why another attempt of a run at its time limit would not help; None if it may.

    One slow start proves nothing, so an attempt is compared with the latest one before that ended for the same cause.
    """
    counted = [job for job in run.jobs if run.retries_after < job.attempt < run.attempt]
    earlier = [job for job in counted if job.exit_cause is ExitCause.TIME_LIMIT]
    if not earlier:
        return None
    latest = max(earlier, key=lambda job: job.attempt)
    if (before := _reached(latest)) is None:
        return None
    now = next((_reached(job) for job in run.jobs if job.attempt == run.attempt), None)
    reached = run.step if now is None else now
    if reached <= before:
        return NoProgress(after=ending, step=before, reached=reached if reached < before else None)
    return _too_short(run, ending, latest, (reached, before), retries_left)


def _too_short(
    run: RunFacts, ending: Ending, latest: JobFacts, reached: tuple[int, int], retries_left: int
) -> LimitTooShort | None:
    resources = read_run(run.spec).resources
    if not isinstance(resources, Slurm):
        return None
    steps = max(reached[0] - _step_before(run, run.attempt), reached[1] - _step_before(run, latest.attempt), 0)
    steps_left = max(0, (run.steps or run.step) - run.step)
    least_s = LEAST_SHARE * 60 * resources.minutes
    times = [_trained_s(ending), _trained_s(latest.exit_reason)]
    trained_s = [time for time in times if time is not None and time < least_s]
    needed = math.ceil(steps_left / max(1, steps))
    known = LimitTooShort(after=ending, minutes=resources.minutes, steps=steps, steps_left=steps_left)
    if len(trained_s) == len(times) and needed > 1:
        return known.model_copy(update={"trained_s": max(trained_s)})
    return (
        known.model_copy(update={"attempts": needed, "retries_left": retries_left}) if needed > retries_left else None
    )


def _step_before(run: RunFacts, attempt: int) -> int:
    """Return the step at which an attempt began, as far as it is stored: where the one before it ended."""
    earlier = [job for job in run.jobs if job.attempt < attempt]
    return _reached(max(earlier, key=lambda job: job.attempt)) or 0 if earlier else 0


def _reached(job: JobFacts) -> int | None:
    return job.exit_step if job.reached_step is None else job.reached_step


def _trained_s(reason: object) -> float | None:
    return reason.trained_s if isinstance(reason, RunPaused) else None
