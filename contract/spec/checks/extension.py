"""Whether a run that is done may take further epochs: its steps so far must be those of the longer run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from contract.spec.choices.rules import Sync
from contract.spec.choices.schedules import Constant, Step
from contract.validation import ValidationIssue

if TYPE_CHECKING:
    from contract.spec.run import RunSpec


def check_extension(run: "RunSpec", epochs: int) -> Iterator[ValidationIssue]:
    """Yield an issue for each reason why the run cannot go on to `epochs` epochs."""
    if epochs < run.epochs:
        message = f"the run has taken {run.epochs} epochs, more than {epochs}"
        yield ValidationIssue(path="epochs", message=message)
    if not has_open_end(run):
        message = (
            f"the rates of the schedule '{run.schedule.kind}' depend on the total number of epochs, so a run of "
            f"{epochs} epochs has other rates from its start: clone the experiment with epochs={epochs}"
        )
        yield ValidationIssue(path="schedule", message=message)
    if not isinstance(run.rule, Sync):
        message = f"the ranks of the rule '{run.rule.kind}' leave one by one at their last step, and cannot go on"
        yield ValidationIssue(path="rule", message=message)


def has_open_end(run: "RunSpec") -> bool:
    """Return whether the schedule's rates at an epoch are the same for every total number of epochs."""
    return isinstance(run.schedule, Constant | Step)
