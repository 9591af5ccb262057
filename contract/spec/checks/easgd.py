"""Checks of SGD and elastic averaging: options that do not go together, and stability of the exchanges with the center.

With alpha = eta rho and no gradient, an exchange reduces the distance to the center if
    2 alpha - 1 < 1           one replica at a time: replica and center each move by alpha of their distance
    alpha (1 + P) - 1 < 1     P replicas at once: the center moves by alpha P of the mean distance
(Zhang, Choromanska & LeCun, 2015, section 3, with both cases; with a gradient, the first case also needs eta < 2.)
"""

from collections.abc import Iterator

from contract.spec.choices.optimizers import SGD, Optimizer
from contract.spec.choices.rules import EASGD, AsyncSGD, Rule
from contract.validation import ValidationIssue


def check_easgd(rule: Rule, optimizer: Optimizer, *, rate: float | None, world: int) -> Iterator[ValidationIssue]:
    """Yield an issue for each reason why the rule cannot work with the optimizer at `rate`, the highest rate."""
    if not isinstance(rule, EASGD | AsyncSGD):
        return
    if not isinstance(optimizer, SGD):
        other = "an optimizer of your own" if optimizer.kind == "import" else optimizer.kind
        message = f"{rule.kind} is defined for SGD only; use the rule sync with {other}"
        yield ValidationIssue(path="optimizer.kind", message=message)
    elif optimizer.nesterov:
        yield ValidationIssue(
            path="optimizer.nesterov",
            message=f"{rule.kind} is not defined for Nesterov momentum; set nesterov to false",
        )
    elif isinstance(rule, AsyncSGD) and rule.variant == "hogwild" and optimizer.momentum:
        message = f"momentum {optimizer.momentum:g} is not possible without a lock on the velocity; set momentum to 0"
        yield ValidationIssue(path="optimizer.momentum", message=message)
    if isinstance(rule, EASGD) and rule.pace == "free" and rule.variant not in ("async", "hogwild"):
        message = f"the replicas of {rule.variant} take turns or exchange together; only async and hogwild can be free"
        yield ValidationIssue(path="rule.pace", message=message)
    if isinstance(rule, EASGD) and rate is None:
        message = f"{rule.kind} needs the highest rate, which a schedule of your own does not state; use the rule sync"
        yield ValidationIssue(path="schedule.kind", message=message)
    elif isinstance(rule, EASGD) and rate is not None:
        rho, at_once = rule.force(rate=rate, world=world), 1 if rule.is_served else world
        if (swing := rate * rho * (1 + at_once)) >= 2:
            parties = "a replica and the center" if rule.is_served else f"{world} replicas and the center"
            message = (
                f"{parties} diverge: rate {rate:g} x rho {rho:g} x (1 + {at_once}) = {swing:g} is not below 2; "
                f"rho must be below {2 / (1 + at_once) / rate:.4g}"
            )
            yield ValidationIssue(path="rule.rho", message=message)


def check_averaging(rule: Rule, *, clips: bool, averages: bool) -> Iterator[ValidationIssue]:
    """Yield an issue for gradient clipping or weight averaging that the rule cannot use."""
    if isinstance(rule, AsyncSGD) and clips:
        yield ValidationIssue(
            path="clip_norm", message="async_sgd averages no gradients, so no norm can be clipped; remove clip_norm"
        )
    if not isinstance(rule, EASGD | AsyncSGD) or not averages:
        return
    what = (
        "the center is an average of the replicas' weights" if isinstance(rule, EASGD) else "its weights are rank 0's"
    )
    yield ValidationIssue(
        path="ema_decay", message=f"{rule.kind} evaluates its weights directly: {what}; remove ema_decay"
    )


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
