"""The stall watch with real ranks: a stopped, a waiting and a looping rank are named, with their stacks."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.stalls.watch import StallWatch
from contract.diagnosis.diagnose import EndedAttempt, diagnose_failure
from contract.folder.rank_failure import RankFailure
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from tests.testing.program_ranks import Ranks, start_ranks

LIMIT_S = 5.0
LATE_S = 10.0  # after the limit: what the stall watch promises
TRAIN = """
import os, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ready = os.path.join(os.environ["BIGBATCH_RUN_FOLDER"], "ready")
for step in range(1_000_000):
    if step == 20:
        open(f"{ready}-{rank}", "w").close()
    if step == 30:
        after_step_30(rank)
    optimizer.zero_grad()
    model(torch.randn(4, 64)).square().mean().backward()
    optimizer.step()
    time.sleep(0.01)
"""


@pytest.fixture
def started(tmp_path: Path) -> "Callable[..., Ranks]":
    """Start the training; `function` is the body of what a rank does after 30 steps."""
    all_ranks: list[Ranks] = []

    def start(function: str = "pass", world: int = 2) -> Ranks:
        script = tmp_path / "train.py"
        script.write_text(f"def after_step_30(rank):\n    {function}\n{TRAIN}")
        ranks = start_ranks(tmp_path / "run", script, world=world)
        all_ranks.append(ranks)
        ranks.await_files([f"ready-{rank}" for rank in range(world)])
        return ranks

    yield start
    for ranks in all_ranks:
        ranks.kill()


def watch(ranks: Ranks, limit_s: float = LIMIT_S) -> StallWatch:
    hosts = [f"n{rank // 2}" for rank in range(len(ranks.processes))]
    pids = {rank: process.pid for rank, process in enumerate(ranks.processes)}
    return StallWatch(ranks.folder, 1, pids=pids, hosts=hosts, limit_s=limit_s)


def seconds_until_found(stalls: StallWatch) -> float:
    started_at = time.monotonic()
    while not stalls.check():
        assert time.monotonic() - started_at < 20 * LIMIT_S
        time.sleep(0.1)
    return time.monotonic() - started_at


def failures_of(ranks: Ranks) -> list[RankFailure]:
    return RunFolder(ranks.folder).read_rank_failures(1)


@pytest.mark.ring("all")
def test_a_stopped_rank_is_named_with_collective_line_and_stacks(started: Callable[..., Ranks]) -> None:
    ranks = started()
    stalls = watch(ranks)
    os.kill(ranks.processes[1].pid, signal.SIGSTOP)
    assert seconds_until_found(stalls) < LIMIT_S + LATE_S
    (failure,) = failures_of(ranks)
    assert (failure.rank, failure.kind, failure.host) == (1, FailureKind.COLLECTIVE_TIMEOUT, "n0")
    assert "rank 1 on n0" in failure.reason
    assert "its process is stopped" in failure.reason
    assert "rank 0 waits in all_reduce of gradients" in failure.reason
    assert "train.py:" in failure.reason
    assert 'train.py", line' in failure.trace
    for rank in (0, 1):
        assert "train.py" in (ranks.folder / "attempts" / f"1.stacks-{rank}.txt").read_text()
    found = diagnose_failure(RunFolder(ranks.folder), EndedAttempt(1, ExitCause.FAILURE, None, ["n0"], "local"))
    assert found is not None
    assert (found.rank, found.kind) == (1, FailureKind.COLLECTIVE_TIMEOUT)
    assert "train.py" in found.evidence


@pytest.mark.ring("all")
def test_a_rank_that_sleeps_while_others_wait_is_named_with_its_line(started: Callable[..., Ranks]) -> None:
    ranks = started("if rank == 0: time.sleep(10_000)")
    seconds_until_found(watch(ranks))
    (failure,) = failures_of(ranks)
    assert failure.rank == 0
    assert "train.py:2 in after_step_30" in failure.reason
    assert failure.trace.rstrip().endswith("in after_step_30")


@pytest.mark.ring("all")
def test_ranks_in_different_collectives_are_found(started: Callable[..., Ranks]) -> None:
    """Three ranks wait in an all-reduce, and one of them in a barrier: a branch that one rank alone takes."""
    ranks = started("dist.barrier() if rank == 2 else dist.all_reduce(torch.zeros(3))", world=3)
    seconds_until_found(watch(ranks))
    (failure,) = failures_of(ranks)
    assert failure.rank == 2
    assert "in barrier at train.py:2 in after_step_30" in failure.reason
    assert "ranks 0 and 1 wait in all_reduce" in failure.reason


@pytest.mark.ring("all")
def test_a_rank_that_makes_progress_slowly_is_not_ended(started: Callable[..., Ranks]) -> None:
    ranks = started("\n    for _ in range(100): time.sleep(0.3); dist.all_reduce(torch.zeros(3))")
    stalls = watch(ranks, limit_s=4.0)
    until = time.monotonic() + 12
    while time.monotonic() < until:
        assert not stalls.check()
        time.sleep(0.2)
    assert failures_of(ranks) == []


@pytest.mark.ring("all")
def test_a_flight_record_of_the_collectives_is_left(started: Callable[..., Ranks], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "spec.json").write_text(f'{{"stall_minutes": {LIMIT_S / 60}}}')
    ranks = started("if rank == 0: time.sleep(10_000)")
    seconds_until_found(watch(ranks))
    assert b"all_reduce" in (ranks.folder / "attempts" / "1.flight-1").read_bytes()
