"""Divergence: which reasons of failures say that a run diverged, and at which step."""

import pytest

from contract.lifecycle.divergence import Diverged, divergence_of
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import RankFailed, RetriesExhausted, RunFailed

pytestmark = pytest.mark.ring("quick")


@pytest.mark.parametrize(
    ("message", "step"),
    [
        ("rank 2 on cpu-2: FloatingPointError: loss is nan at step 115", 115),
        ("rank 0 on a: Diverged: at step 3 the loss is inf, with a learning rate of 40; the first is conv1", 3),
        ("rank 5 on cpu-3: RuntimeError: loss is not a number", 200),
        ("rank 2 on gpu-2: ValueError: loss is not finite at step 90 (exit status 1)", 90),
    ],
)
def test_a_failure_for_a_loss_that_is_no_number_is_a_divergence(message: str, step: int) -> None:
    after = RankFailed(message=message)
    found = divergence_of(RetriesExhausted(after=after, cause=ExitCause.FAILURE, retries=0), 200)
    assert found == divergence_of(RunFailed(message=message), 200) == Diverged(step=step)
    assert found
    assert found.sentence == f"the run diverged at step {step}"


def test_another_failure_is_no_divergence() -> None:
    assert divergence_of(RunFailed(message="rank 1 on a: CUDA out of memory at step 3"), 3) is None
    assert divergence_of(None, 3) is None


def test_a_metric_that_is_no_number_says_from_which_step_on() -> None:
    found = Diverged(metric="train/loss", step=120, value="nan")
    assert found.sentence == "train/loss is nan from step 120 on"
