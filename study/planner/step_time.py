"""The time of a step with every update rule, from the time of computing and of an all-reduce with each collective.

sync             computing + what of the all-reduce backward does not hide; the last bucket is never hidden
easgd sync1      computing + tree / period
easgd sync2      computing + all-reduce / period
easgd sync3      max(computing, all-reduce) in a step with an exchange
easgd original   max(computing + e, P e), e = 2 (alpha + S beta): the center serves one worker after the other
async, hogwild   max(computing + e, P (alpha + S beta)): messages and answers use the link at the same time
"""

from collections.abc import Iterator
from dataclasses import dataclass

from contract.spec.choices.rules import EASGD, AsyncSGD, Rule, Sync

LAST_BUCKET_BYTES = 1 << 20  # as in trainers/rules/gradient_buckets.py: the sum that no computation hides
BACKWARD_SHARE = 2 / 3  # of the computing time


@dataclass(frozen=True)
class StepInputs:
    """What the rules have in common: `compute_s` for all passes of a step, `last_pass_s` for the last one of them.

    `fixed_s`: what each step takes beside that and the exchange, such as the update of the weights.
    """

    compute_s: float
    last_pass_s: float
    size_bytes: float
    ranks: int
    server_rate: float
    server_latency_s: float
    fixed_s: float = 0.0

    @property
    def message_s(self) -> float:
        """The time of one message with all weights to or from rank 0."""
        return self.server_latency_s + self.size_bytes / self.server_rate


def synchronous_s(step: StepInputs, allreduce_s: float, *, overlap: bool = True) -> float:
    """Return the time of a step of synchronous SGD."""
    if not overlap or step.ranks == 1:
        return step.compute_s + (allreduce_s if step.ranks > 1 else 0.0)
    last_share = min(1.0, LAST_BUCKET_BYTES / step.size_bytes)
    exposed_s = max(allreduce_s - BACKWARD_SHARE * step.last_pass_s, last_share * allreduce_s)
    return step.compute_s + exposed_s


def elastic_s(step: StepInputs, rule: EASGD, *, allreduce_s: float, tree_s: float) -> float:
    """Return the mean time of a step of elastic averaging."""
    if step.ranks == 1:
        return step.compute_s
    match rule.variant:
        case "sync1":
            return step.compute_s + tree_s / rule.period
        case "sync2":
            return step.compute_s + allreduce_s / rule.period
        case "sync3":
            return step.compute_s + max(allreduce_s - step.compute_s, 0.0) / rule.period
        case "original":
            return max(step.compute_s + 2 * step.message_s / rule.period, 2 * step.ranks * step.message_s / rule.period)
        case _:
            return served_s(step, rule.period)


def served_s(step: StepInputs, period: int = 1) -> float:
    """Return the mean time of a step of a rule whose center answers in order of arrival."""
    if step.ranks == 1:
        return step.compute_s
    return max(step.compute_s + 2 * step.message_s / period, step.ranks * step.message_s / period)


def rules() -> Iterator[Rule]:
    """Yield the update rules that a plan compares."""
    yield Sync()
    yield Sync(overlap=False)
    for variant in ("sync1", "sync2", "sync3", "original", "async", "hogwild"):
        yield EASGD.model_validate({"variant": variant})
    yield AsyncSGD()


def uses_collective(rule: Rule) -> bool:
    """Return whether a rule's exchange is the run's collective; the others have an exchange of their own."""
    return isinstance(rule, Sync) or (isinstance(rule, EASGD) and rule.variant in ("sync2", "sync3"))


def step_s(step: StepInputs, rule: Rule, *, allreduce_s: float, tree_s: float) -> float:
    """Return the time of a step with a rule."""
    match rule:
        case Sync(overlap=overlap):
            return step.fixed_s + synchronous_s(step, allreduce_s, overlap=overlap)
        case EASGD():
            return step.fixed_s + elastic_s(step, rule, allreduce_s=allreduce_s, tree_s=tree_s)
        case AsyncSGD():
            return step.fixed_s + served_s(step)


def describe_rule(rule: Rule) -> str:
    """Return a rule in a few words, such as "easgd sync3"."""
    match rule:
        case Sync(overlap=overlap):
            return "sync" if overlap else "sync without overlap"
        case EASGD(variant=variant):
            return f"easgd {variant}"
        case AsyncSGD(variant=variant):
            return f"async_sgd {variant}"
