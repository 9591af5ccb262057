"""Whole attempts at a run on forked ranks, which can be made to die or to hear a signal at a step of one's choice."""

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
from trainers.build import models
from trainers.checkpoints.checkpoint_writer import Writer
from trainers.progress.reporter import Report
from trainers.ranks import rank_process as rank
from trainers.ranks.rank_info import here
from trainers.recovery import checkpoint_coordinator as keeper
from trainers.recovery.preemption_signal import Notice, leave_at_once

PATIENCE_S = 150
Blow = Callable[[int], None]  # carried out on a rank that has just told a step, with that step


def attempt(
    folder: RunFolder, number: int, *, blow: Blow | None = None, victims: Sequence[int] = (0,), net: str = ""
) -> list[int | None]:
    """Carry out one attempt to its end; return the exit status of every rank."""
    world = folder.read_spec().resources.world
    processes: list[BaseProcess] = [
        CONTEXT.Process(target=_live, args=(folder, number, r, world, blow if r in victims else None, net))
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
    """Send this process a signal after a step, and wait until it is heard: a busy machine could take steps before."""

    notice: Notice | None = None  # of the process that is hit

    def __init__(self, number: signal.Signals, *, after: int) -> None:
        self.number, self.after = number, after

    def __call__(self, step: int) -> None:
        if step == self.after:
            os.kill(os.getpid(), self.number)
            while self.notice and self.notice.reason is None:
                time.sleep(0.002)


class Falls:
    """On all ranks: SIGKILL to a rank after a step of its own, while those that wait for nobody stay with rank 0.

    Rank 0 serves and evaluates beside its own steps: left alone, the others could be through before it has come to
    the step at which it falls. One that is ahead waits, but half a second a step at most: rank 0 may wait for it.
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
    """A series by step; a step that was told twice must have been told alike."""
    found: dict[int, float | None] = {}
    for event in events(folder):
        if isinstance(event, Points) and name in event.values:
            value = event.values[name]
            assert found.setdefault(event.step, value) == value, f"step {event.step} was told otherwise before"
    return found


def _live(folder: RunFolder, number: int, r: int, world: int, blow: Blow | None, net: str) -> None:
    torch.set_num_threads(1)
    notice = Notice(leave_at_once)
    notice.listen()
    if net:
        models.model = lambda run: _net(net, run.seed)  # type: ignore[assignment]
    _write_at_once()
    keeper.LOOK_S = 0.0
    if isinstance(blow, Signal):
        blow.notice = notice
    if blow:
        _strike(blow)
    rank.live(folder, number, here(r, world), notice=notice)


def _write_at_once() -> None:
    """Steps of a millisecond would be over before a checkpoint is on disk: wait, so that tests know the last one."""
    save = Writer.save

    def patiently(self: Writer, *state: Any) -> None:
        save(self, *state)
        self.wait()

    Writer.save = patiently  # type: ignore[method-assign, assignment]


def _strike(blow: Blow) -> None:
    points = Report.points

    def told(self: Report, step: int, values: dict[str, float]) -> None:
        points(self, step, values)
        if "loss" in values:
            blow(step)

    Report.points = told  # type: ignore[method-assign, assignment]


def _net(kind: str, seed: int) -> nn.Module:
    """A net for the digits that draws random numbers, or one in which no image depends on the others of its batch."""
    torch.manual_seed(seed)
    middle: list[nn.Module] = [nn.Dropout(0.5), nn.BatchNorm1d(32)] if kind == "dropout" else []
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), *middle, nn.ReLU(), nn.Linear(32, 10))
