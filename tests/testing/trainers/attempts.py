"""Run whole attempts on forked ranks, which can be killed or receive a signal at a chosen step."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.forked_ranks import CONTEXT
from tests.testing.trainers.jobs import events
from trainers.checkpoints.checkpoint_writer import CheckpointWriter
from trainers.progress.reporter import Reporter
from trainers.ranks import rank_process
from trainers.ranks.rank_info import local_rank_info
from trainers.recovery import checkpoint_coordinator
from trainers.recovery.preemption_signal import PreemptionSignal, exit_now
from trainers.training import engine

PATIENCE_S = 150
Blow = Callable[[int], None]  # called on a rank with each step that the rank has reported


def attempt(
    folder: RunFolder, number: int, *, blow: Blow | None = None, victims: Sequence[int] = (0,), net: str = ""
) -> list[int | None]:
    """Run one attempt to its end; return the exit status of every rank."""
    world = folder.read_spec().resources.world
    processes: list[BaseProcess] = [
        CONTEXT.Process(target=_run, args=(folder, number, r, world, blow if r in victims else None, net))
        for r in range(world)
    ]
    for process in processes:
        process.start()
    try:
        for process in processes:
            process.join(PATIENCE_S)
        return [process.exitcode for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.join()


class Signal:
    """Send this process a signal after a step, and wait until it is handled, so that no further step is taken."""

    preemption: PreemptionSignal | None = None  # of the process that receives the signal

    def __init__(self, number: signal.Signals, *, after: int) -> None:
        self.number, self.after = number, after

    def __call__(self, step: int) -> None:
        if step == self.after:
            os.kill(os.getpid(), self.number)
            while self.preemption and self.preemption.reason is None:
                time.sleep(0.002)


class KillAtStep:
    """On all ranks: send SIGKILL to a rank after a step of its own, and keep independent ranks close to rank 0.

    Rank 0 serves and evaluates besides its own steps, so other ranks could finish before rank 0 reaches the step at
    which it is killed. A rank that is ahead waits, but at most half a second per step, because rank 0 may wait for it.
    """

    def __init__(self, step_by_rank: dict[int, int]) -> None:
        self.step_by_rank = step_by_rank
        self.led = CONTEXT.Value("q", 0)

    def __call__(self, step: int) -> None:
        rank = dist.get_rank()
        if rank == 0:
            self.led.value = step
        for _ in range(25):
            if step <= self.led.value + 3:
                break
            time.sleep(0.02)
        if self.step_by_rank.get(rank) == step:
            os.kill(os.getpid(), signal.SIGKILL)


def curve(folder: RunFolder, name: str = "loss") -> dict[int, float | None]:
    """Return a series by step; a step that was reported twice must have the same value."""
    found: dict[int, float | None] = {}
    for event in events(folder):
        if isinstance(event, Points) and name in event.values:
            value = event.values[name]
            assert found.setdefault(event.step, value) == value, (
                f"step {event.step} was reported with another value before"
            )
    return found


def _run(folder: RunFolder, number: int, r: int, world: int, blow: Blow | None, net: str) -> None:
    torch.set_num_threads(1)
    preemption = PreemptionSignal(exit_now)
    preemption.listen()
    if net:
        engine.build_model = lambda run: _net(net, run.seed)  # type: ignore[assignment]
    _write_at_once()
    checkpoint_coordinator.PAUSE_POLL_S = 0.0
    if isinstance(blow, Signal):
        blow.preemption = preemption
    if blow:
        _strike(blow)
    rank_process.run_rank(folder, number, local_rank_info(r, world), preemption=preemption)


def _write_at_once() -> None:
    """Wait for every save, because steps of a millisecond could end before a checkpoint is on disk."""
    save = CheckpointWriter.save

    def save_and_wait(self: CheckpointWriter, *state: Any) -> None:
        save(self, *state)
        self.wait()

    CheckpointWriter.save = save_and_wait  # type: ignore[method-assign, assignment]


def _strike(blow: Blow) -> None:
    points = Reporter.points

    def report_and_blow(self: Reporter, step: int, values: dict[str, float]) -> None:
        points(self, step, values)
        if "loss" in values:
            blow(step)

    Reporter.points = report_and_blow  # type: ignore[method-assign, assignment]


def _net(kind: str, seed: int) -> nn.Module:
    """Return a model for the digits with dropout, or a model in which images of a batch do not depend on each other."""
    torch.manual_seed(seed)
    middle: list[nn.Module] = [nn.Dropout(0.5), nn.BatchNorm1d(32)] if kind == "dropout" else []
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), *middle, nn.ReLU(), nn.Linear(32, 10))
