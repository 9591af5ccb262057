"""Can replicas that are tied to a center come to rest?

With alpha = eta rho, and no gradient, exchanges only shorten distances to the center while
    2 alpha - 1 < 1           served one at a time: replica and center move towards each other by alpha each
    alpha (1 + P) - 1 < 1     P at once: the center moves by alpha P of the replicas' mean distance
(Zhang, Choromanska & LeCun, 2015, section 3, have both, and the former with a gradient: eta < 2 as well.)
"""

from collections.abc import Iterator

from contract.spec.choices.optimizers import SGD, Optimizer
from contract.spec.choices.rules import EASGD, AsyncSGD, Rule
from contract.validation import Fault


def elastic_misfits(rule: Rule, optimizer: Optimizer, *, rate: float, world: int) -> Iterator[Fault]:
    """What keeps the rule from working with this optimizer at this rate, the schedule's highest."""
    if not isinstance(rule, EASGD | AsyncSGD):
        return
    if not isinstance(optimizer, SGD):
        message = f"the equations of {rule.kind} are SGD's; with {optimizer.kind} take the rule sync"
        yield Fault(path="optimizer.kind", message=message)
    elif optimizer.nesterov:
        yield Fault(path="optimizer.nesterov", message=f"{rule.kind} has no form with Nesterov's look ahead")
    elif isinstance(rule, AsyncSGD) and rule.variant == "hogwild" and optimizer.momentum:
        message = f"momentum {optimizer.momentum:g}: without a lock there is no velocity to keep; take momentum 0"
        yield Fault(path="optimizer.momentum", message=message)
    if isinstance(rule, EASGD):
        rho, at_once = rule.force(rate=rate, world=world), 1 if rule.is_served else world
        if (swing := rate * rho * (1 + at_once)) >= 2:
            who = "a replica and the center" if rule.is_served else f"{world} replicas and the center"
            message = (
                f"{who} swing apart: rate {rate:g} x rho {rho:g} x (1 + {at_once}) = {swing:g} is not below 2; "
                f"rho must be below {2 / (1 + at_once) / rate:.4g}"
            )
            yield Fault(path="rule.rho", message=message)


def averaging_misfits(rule: Rule, *, clips: bool, averages: bool) -> Iterator[Fault]:
    """What such a rule leaves no place for."""
    if isinstance(rule, AsyncSGD) and clips:
        yield Fault(path="clip_norm", message="async_sgd has no averaged gradient whose norm could be clipped")
    if not isinstance(rule, EASGD | AsyncSGD) or not averages:
        return
    what = (
        "the center is an average of the replicas' weights" if isinstance(rule, EASGD) else "its weights are rank 0's"
    )
    yield Fault(path="ema_decay", message=f"{rule.kind} is evaluated as it is: {what}")
