"""The backend's collectives under watch."""

from datetime import timedelta
from unittest.mock import patch

import torch
import torch.distributed as dist

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.runners.timeout import Watch


class JustInTime:
    """Forces a collective that ends between the end of our patience and the look whether it has ended."""

    def __init__(self) -> None:
        self.waits = 0

    def wait(self, timeout: timedelta | None = None) -> bool:
        self.waits += 1
        if self.waits == 1:
            raise RuntimeError("Operation timed out!")
        return True

    def is_completed(self) -> bool:
        return True


def summed_just_in_time() -> int:
    work = JustInTime()
    with patch.object(dist, "all_reduce", return_value=work):
        Watch(timeout_s=5).all_reduce(torch.ones(1))
    return work.waits


def test_what_ends_just_after_a_look_has_ended_well() -> None:
    assert on_ranks(1, summed_just_in_time) == [2]
