"""The global batch over a run, and how one rank takes its part of it: a whole, or pass by pass."""

from collections.abc import Iterator
from itertools import pairwise

from contract.spec.base import Spec
from contract.spec.numbers import Count
from contract.validation import Fault


class BatchStage(Spec):
    """From `epoch` on the global batch is `batch`."""

    epoch: Count
    batch: Count


def passes(share: int, micro_batch: int | None) -> list[int]:
    """The samples of each forward and backward pass of one rank's share of a step: as few as may be, and as even."""
    count = -(-share // micro_batch) if micro_batch else 1
    return [share // count + (number < share % count) for number in range(count)]


def share_misfit(batch: int, *, world: int, group: int | None, micro_batch: int | None) -> str | None:
    """What keeps `world` ranks from steps of `batch` samples; None if nothing.

    `group`: so many of them normalize over their common batch; none: the net has no batch normalization.
    """
    share, rest = divmod(batch, world)
    if rest:
        return f"batch {batch} does not divide over {world} ranks"
    if group is None or passes(share, micro_batch)[-1] * group >= 2:
        return None
    if share == 1:
        told = f"batch {batch} over {world} ranks is 1 image per rank"
    else:
        told = (
            f"batch {batch} over {world} ranks is {share} images per rank, and in passes of {micro_batch} one has but 1"
        )
    return f"{told}; batch normalization needs at least 2"


def stage_misfits(stages: list[BatchStage], epochs: int) -> Iterator[Fault]:
    """Stages that do not follow each other within the run."""
    for number, (before, epoch) in enumerate(pairwise([0, *(stage.epoch for stage in stages)])):
        path = f"batch_stages.{number}.epoch"
        if epoch <= before:
            yield Fault(path=path, message=f"the stage at epoch {epoch} does not come after epoch {before}")
        elif epoch >= epochs:
            message = f"the stage at epoch {epoch} is never reached: the run has {epochs} epochs"
            yield Fault(path=path, message=message)
