"""Checks of the batches of a run: each must divide over its ranks, and fill a batch normalization."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from contract.spec.batch_size import check_batch_stages, check_division
from contract.validation import ValidationIssue

if TYPE_CHECKING:
    from contract.spec.run import RunSpec


def check_batches(run: "RunSpec") -> Iterator[ValidationIssue]:
    """Yield an issue for each batch that the ranks of the run cannot take, or that its data do not have."""
    world, group = run.resources.world, run.batch_norm.group
    yield from check_batch_stages(run.batch_stages, run.epochs)
    stages = [(f"batch_stages.{number}.batch", stage.batch) for number, stage in enumerate(run.batch_stages)]
    for path, batch in [("batch", run.batch), *stages]:
        if batch > run.data.train_samples:
            message = f"batch {batch} is larger than the {run.data.train_samples} training samples of {run.data.kind}"
            yield ValidationIssue(path=path, message=message)
        reason = check_division(batch, world=run.replicas)
        if reason is None and run.model.normalizes:
            reason = run.explain_single_sample(batch)
        if reason is not None:
            yield ValidationIssue(path=path, message=reason)
    if world % group:
        message = f"{world} ranks do not divide into groups of {group}"
        yield ValidationIssue(path="batch_norm.group", message=message)
