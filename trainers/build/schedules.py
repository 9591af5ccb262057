"""The schedule of the learning rate."""

from typing import assert_never

from contract.choices import schedules as choices
from contract.spec import RunSpec
from trainers.schedules.constant import constant
from trainers.schedules.polynomial import polynomial
from trainers.schedules.schedule import Schedule
from trainers.schedules.warmup import warmup


def schedule(run: RunSpec) -> Schedule:
    """The rate as a function of the steps taken."""
    choice = run.schedule
    match choice:
        case choices.Constant():
            after = constant(choice.rate)
        case choices.Polynomial():
            after = polynomial(choice.rate, power=choice.power, steps=run.steps)
        case _:
            assert_never(choice)
    steps = choice.warmup_epochs * run.steps_per_epoch
    return warmup(after, start_rate=choice.start_rate, rate=choice.rate, steps=steps)
