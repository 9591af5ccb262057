"""The backend's collectives with a timeout."""

from datetime import timedelta
from unittest.mock import patch

import torch
import torch.distributed as dist

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.runners.timeout import BackendCollectives


class WorkThatEndsLate:
    """Work that completes between the timeout of wait() and the call of is_completed()."""

    def __init__(self) -> None:
        self.waits = 0

    def wait(self, timeout: timedelta | None = None) -> bool:
        self.waits += 1
        if self.waits == 1:
            raise RuntimeError("Operation timed out!")
        return True

    def is_completed(self) -> bool:
        return True


def sum_that_ends_late() -> int:
    work = WorkThatEndsLate()
    with patch.object(dist, "all_reduce", return_value=work):
        BackendCollectives(timeout_s=5).all_reduce(torch.ones(1))
    return work.waits


def test_work_that_completes_just_after_a_wait_is_no_error() -> None:
    assert on_ranks(1, sum_that_ends_late) == [2]
