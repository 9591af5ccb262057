"""Build the schedule of the learning rate."""

import math
from typing import assert_never

from contract.spec.choices import schedules as choices
from contract.spec.run import RunSpec
from trainers.build.imported import describe, make_callable
from trainers.generators.seeds import alike
from trainers.schedules import Schedule, cosine, polynomial, scale, staged, step, warmup

WARMUP_POWERS = {"linear": 1, "quadratic": 2}


def build_schedule(run: RunSpec) -> Schedule:
    """Return the learning rate as a function of the epochs done."""
    choice = run.schedule
    if isinstance(choice, choices.ImportedSchedule):
        with alike(run.seed, "schedule"):
            return _build_own(choice, run.epochs)
    peak = _peak(run, choice)
    return warmup(
        _decay(run, choice, peak),
        peak=peak,
        start_rate=min(choice.start_rate, peak(0)),  # a scaled peak may be below the start rate
        epochs=choice.warmup_epochs,
        power=WARMUP_POWERS[choice.warmup],
    )


def _build_own(choice: choices.ImportedSchedule, epochs: int) -> Schedule:
    """Return a user's schedule, which raises TypeError or ValueError if a rate is no number of at least 0."""
    schedule = make_callable(choice.function, epochs=epochs, **choice.options)

    def rate(epoch: float) -> float:
        value = schedule(epoch)
        try:
            number = float(value)
        except (TypeError, ValueError):
            message = f"the schedule of {choice.function} returned {describe(value)} at epoch {epoch:g}, not a number"
            raise TypeError(message) from None
        if not 0 <= number < math.inf:
            raise ValueError(f"the schedule of {choice.function} returned the rate {number} at epoch {epoch:g}")
        return number

    return rate


def _peak(run: RunSpec, choice: choices.EngineSchedule) -> Schedule:
    peak = staged([(0, choice.rate), *((stage.epoch, stage.rate) for stage in choice.stages)])
    if choice.scaling is None:
        return peak
    reference_batch, power = choice.scaling.reference_batch, choice.scaling.power
    return scale(peak, lambda e: run.batch_schedule.batch_in(int(e)), reference_batch=reference_batch, power=power)


def _decay(run: RunSpec, choice: choices.EngineSchedule, peak: Schedule) -> Schedule:
    match choice:
        case choices.Constant():
            return peak
        case choices.Polynomial(decay_from="start") as c:
            return polynomial(peak, power=c.power, epochs=run.epochs, end_rate=c.end_rate)
        case choices.Polynomial() as c:
            one_step_on = run.epochs + 1 / run.batch_schedule.steps_in(run.epochs - 1)
            return polynomial(peak, power=c.power, epochs=one_step_on, begin=c.warmup_epochs, end_rate=c.end_rate)
        case choices.Step() as c:
            return step(peak, milestones=c.milestones, factor=c.factor)
        case choices.Cosine() as c:
            return cosine(peak, epochs=run.epochs, begin=c.warmup_epochs, end_rate=c.end_rate)
        case _:
            assert_never(choice)
