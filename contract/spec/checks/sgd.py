"""Checks of SGD: the forms of its momentum."""

from collections.abc import Iterator

from contract.spec.choices.optimizers import SGD, Optimizer
from contract.spec.choices.rules import AsyncSGD, Rule
from contract.validation import ValidationIssue


def check_sgd(optimizer: Optimizer, rule: Rule) -> Iterator[ValidationIssue]:
    """Yield an issue for each option of SGD that does not go with another option or with the rule."""
    if not isinstance(optimizer, SGD):
        return
    if optimizer.nesterov and not optimizer.momentum:
        yield ValidationIssue(path="optimizer.nesterov", message="Nesterov momentum needs a momentum above 0")
    if optimizer.nesterov and optimizer.form == "rate_inside":
        message = "Nesterov momentum is defined here with the rate outside of the velocity only: use rate_outside"
        yield ValidationIssue(path="optimizer.form", message=message)
    if isinstance(rule, AsyncSGD) and optimizer.form == "rate_outside":
        message = "the center of async_sgd has the velocity, with each gradient's own rate inside: use rate_inside"
        yield ValidationIssue(path="optimizer.form", message=message)
