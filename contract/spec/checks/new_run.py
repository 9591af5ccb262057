"""Checks of new runs of the engine: choices that the engine would ignore, or cannot carry out.

Earlier versions of the service accepted these choices. Only an experiment that is submitted is checked, so that stored
experiments stay readable.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from contract.spec.choices.rules import EASGD, AsyncSGD
from contract.validation import ValidationIssue

if TYPE_CHECKING:
    from contract.spec.run import RunSpec


def check_new_run(run: "RunSpec") -> Iterator[ValidationIssue]:
    """Yield an issue for each choice of a new run that would have no effect or would end the run with an error."""
    yield from _collective_issues(run)
    yield from _batch_norm_issues(run)


def _collective_issues(run: "RunSpec") -> Iterator[ValidationIssue]:
    rule, kind = run.rule, run.collective.kind
    if kind == "native" or not isinstance(rule, EASGD | AsyncSGD) or rule.variant in ("sync2", "sync3"):
        return
    how = "has a tree of its own" if rule.variant == "sync1" else "lets each rank exchange with rank 0 by itself"
    others = "sync" if isinstance(rule, AsyncSGD) else "sync, or easgd with the variant sync2 or sync3"
    effect = f"{kind} would have no effect: leave out the collective, or use the rule {others}"
    message = f"{_name(rule)} {how}, so {effect}"
    yield ValidationIssue(path="collective.kind", message=message)


def _batch_norm_issues(run: "RunSpec") -> Iterator[ValidationIssue]:
    rule, group = run.rule, run.batch_norm.group
    if group > 1 and isinstance(rule, EASGD | AsyncSGD) and rule.survives_workers:
        message = (
            f"the ranks of {_name(rule)} do not wait for each other, so {group} ranks have no common batch to "
            "normalize over: set group to 1, or use a synchronous rule"
        )
        yield ValidationIssue(path="batch_norm.group", message=message)


def _name(rule: EASGD | AsyncSGD) -> str:
    return f"{rule.kind} {rule.variant}"
