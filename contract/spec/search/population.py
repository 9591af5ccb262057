"""Checks of population-based training against the run that its members carry out."""

from collections.abc import Iterator

from contract.spec.any_run import AnyRun
from contract.spec.choices.rules import Sync
from contract.spec.grid.dotted_paths import overlap
from contract.spec.run import RunSpec
from contract.spec.search.early_stopping import NoStopping
from contract.spec.search.samplers import PopulationSampler
from contract.spec.search.search import SearchSpec
from contract.validation import ValidationIssue

# of all trials; each has another seed, which is not the sampler's to choose
SHARED = ("model", "data", "epochs", "seed", "checkpoint")


def population_issues(search: SearchSpec, sampler: PopulationSampler, base: AnyRun) -> Iterator[ValidationIssue]:
    """Yield an issue for each field that population-based training cannot have, by its path in the search."""
    if not isinstance(base, RunSpec):
        message = "members copy weights from checkpoints of the engine, and a program has a format of its own: use tpe"
        yield ValidationIssue(path="sampler.kind", message=message)
        return
    if not base.checkpoint.at_end:
        message = "members copy weights from checkpoints: add `checkpoint: {at_end: true}` to the base run"
        yield ValidationIssue(path="sampler.kind", message=message)
    if not isinstance(base.rule, Sync):
        message = f"members begin with weights of another run, which the rule {base.rule.kind} cannot: use sync"
        yield ValidationIssue(path="sampler.kind", message=message)
    if search.value != "last":
        message = "a member hands on the weights of its last step, so its value is that of the last step: write last"
        yield ValidationIssue(path="value", message=message)
    if not isinstance(search.early_stopping, NoStopping):
        message = "after each generation the worst members copy the best, so no trial is stopped: leave it out"
        yield ValidationIssue(path="early_stopping", message=message)
    if search.repeats is not None:
        yield ValidationIssue(path="repeats", message="a member has one run at a time, whose weights are handed on")
    if search.trials is not None and search.trials < 2 * sampler.members:
        least = 2 * sampler.members
        message = f"{search.trials} trials of {sampler.members} members end before any can copy: {least} or more"
        yield ValidationIssue(path="trials", message=message)
    for path in search.space:
        if found := next((one for one in SHARED if overlap(path, one)), None):
            message = f"all members have the base's {found}: a copy of weights needs equal nets and equal generations"
            yield ValidationIssue(path=f"space.{path}", message=message)
