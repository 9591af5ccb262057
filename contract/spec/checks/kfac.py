"""Checks of the preconditioner: with the rule, with compilation, and of its stages."""

from collections.abc import Iterator

from contract.spec.choices.preconditioners import KFAC, Preconditioner
from contract.spec.choices.rules import Rule, Sync
from contract.validation import ValidationIssue


def check_preconditioner(
    kfac: Preconditioner | None, rule: Rule, *, compiles: bool, steps: int
) -> Iterator[ValidationIssue]:
    """Yield an issue for each reason why the preconditioner cannot work; paths are of the run."""
    if kfac is None:
        return
    if not isinstance(rule, Sync):
        message = (
            f"K-FAC preconditions the mean gradient of all ranks with factors of all ranks, and the replicas of "
            f"{rule.kind} have neither; use the rule sync"
        )
        yield ValidationIssue(path="preconditioner", message=message)
    if compiles:
        message = (
            "K-FAC reads the inputs of each layer in hooks, which a compiled net does not call; set compile to false"
        )
        yield ValidationIssue(path="compile", message=message)
    for path, message in [*_variant_issues(kfac), *_stage_issues(kfac, steps)]:
        yield ValidationIssue(path=f"preconditioner.{path}", message=message)


def _variant_issues(kfac: KFAC) -> Iterator[tuple[str, str]]:
    if kfac.variant == "hybrid" and kfac.fraction is None:
        yield "fraction", "the variant hybrid needs the fraction of the ranks that have the inverses of a layer"
    if kfac.variant != "hybrid" and kfac.fraction is not None:
        yield "fraction", f"the variant {kfac.variant} has a fraction of its own; use hybrid, or remove fraction"
    kinds = {"Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding"}
    if "*" in kfac.skip or kinds <= set(kfac.skip):
        yield "skip", "no layer would be left for K-FAC; remove preconditioner instead"


def _stage_issues(kfac: KFAC, steps: int) -> Iterator[tuple[str, str]]:
    """Yield the path and the message of each issue of an interval or of the order of stages."""
    factor_every, inverse_every, before = kfac.factor_every, kfac.inverse_every, 0
    yield from _interval_issues("inverse_every", factor_every, inverse_every)
    for number, stage in enumerate(kfac.stages):
        path = f"stages.{number}"
        if stage.step <= before:
            yield f"{path}.step", f"the stage at step {stage.step} must come after step {before}"
        elif stage.step >= steps > 0:
            yield f"{path}.step", f"the stage at step {stage.step} is never reached: the run has {steps} steps"
        if stage.factor_every is stage.inverse_every is stage.damping is None:
            yield path, "the stage changes nothing: it has neither factor_every, inverse_every nor damping"
        before = max(before, stage.step)
        factor_every, inverse_every = stage.factor_every or factor_every, stage.inverse_every or inverse_every
        yield from _interval_issues(path, factor_every, inverse_every)


def _interval_issues(path: str, factor_every: int, inverse_every: int) -> Iterator[tuple[str, str]]:
    if inverse_every < factor_every:
        message = (
            f"inverses every {inverse_every} steps would be computed again from the same factors, which are updated "
            f"every {factor_every} steps: inverse_every must be at least factor_every"
        )
        yield path, message
