"""The stages of the global batch, and the split of one rank's share into forward and backward passes."""

from collections.abc import Iterator
from itertools import pairwise

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count
from contract.validation import ValidationIssue


class BatchStage(Spec):
    """The global batch from `epoch` on."""

    epoch: Count = Field(examples=[30])
    """First epoch of the stage; the first epoch of the run is 0."""
    batch: Count = Field(examples=[512])
    """Samples per step, over all ranks."""


def split_into_passes(share: int, micro_batch: int | None) -> list[int]:
    """Return the samples of each pass of one rank's share: as few passes as possible, of nearly equal size."""
    count = _count_passes(share, micro_batch)
    return [share // count + (number < share % count) for number in range(count)]


def _count_passes(share: int, micro_batch: int | None) -> int:
    return -(-share // micro_batch) if micro_batch else 1


def check_division(batch: int, *, world: int) -> str | None:
    """Return why `world` ranks cannot take steps of `batch` samples; None if they can."""
    return f"batch {batch} does not divide over {world} ranks" if batch % world else None


def check_normalized_batch(batch: int, *, world: int, group: int, micro_batch: int | None) -> str | None:
    """Return why batch normalization may have a single sample, for a batch that divides; None if it has more.

    `group`: number of ranks that share batch-normalization statistics.
    """
    share = batch // world
    if share // _count_passes(share, micro_batch) * group >= 2:
        return None
    if share == 1:
        shares = f"batch {batch} over {world} ranks is 1 sample per rank"
    else:
        shares = f"batch {batch} over {world} ranks is {share} samples per rank"
        shares += f", and in passes of {micro_batch} one pass has only 1"
    return f"{shares}; batch normalization needs at least 2"


def check_batch_stages(stages: list[BatchStage], epochs: int) -> Iterator[ValidationIssue]:
    """Yield an issue for each stage that is out of order or after the run's last epoch."""
    for number, (before, epoch) in enumerate(pairwise([0, *(stage.epoch for stage in stages)])):
        path = f"batch_stages.{number}.epoch"
        if epoch <= before:
            yield ValidationIssue(path=path, message=f"the stage at epoch {epoch} must come after epoch {before}")
        elif epoch >= epochs:
            message = f"the stage at epoch {epoch} is never reached: the run has {epochs} epochs"
            yield ValidationIssue(path=path, message=message)
