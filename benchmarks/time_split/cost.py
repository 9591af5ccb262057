"""The cost of the hook: steps of about 50 ms in alternating blocks with and without it, on all ranks alike."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.optim import optimizer as optimizers
from torch.utils.data import TensorDataset, dataloader

from benchmarks.throughput.rank import plain_steps, time_steps
from bigbatch.injected import start
from bigbatch.injected.watch import Watch
from contract.spec.run import RunSpec
from trainers.ranks.rank_info import local_rank_info

BLOCK_S = 0.4  # short, because the speed of a shared machine drifts; the thread writes once a second, if the hook is on
SMALL_STEPS, SMALL_ROUNDS = 200, 40  # of a net of one weight: there the calls cost more than the step
CPU = torch.device("cpu")


class Hook:
    """The hook of a program in this process, which can be taken off and put on again."""

    def __init__(self, folder: Path) -> None:
        """Put the hook on; `folder` is the run folder."""
        (folder / "attempts").mkdir(exist_ok=True)
        variables = {"RUN_FOLDER": str(folder), "ATTEMPT": "1", "TIME_SPLIT": "1"}
        os.environ |= {f"BIGBATCH_{name}": value for name, value in variables.items()}
        distributed = (dist, dist.distributed_c10d, dist.distributed_c10d.Work)
        owners: tuple[Any, ...] = (*distributed, torch.autograd, dataloader._BaseDataLoaderIter)
        before = [dict(vars(owner)) for owner in owners]
        start._Hook(str(folder / "attempts" / "1.flight-")).attach(torch)
        self._changed = [
            (owner, name, old[name], value)
            for owner, old in zip(owners, before, strict=True)
            for name, value in vars(owner).items()
            if name in old and old[name] is not value
        ]
        assert len(self._changed) > 10
        self._hooks: tuple[dict[int, Any], dict[int, Any]] = (
            optimizers._global_optimizer_pre_hooks,
            optimizers._global_optimizer_post_hooks,
        )
        self._registered = [dict(hooks) for hooks in self._hooks]
        self.thread_s = self.on_s = 0.0
        self._switched_at, self._is_on = time.monotonic(), True
        self._guard_thread()

    def _guard_thread(self) -> None:
        write: Callable[..., None] = Watch._write

        def write_if_on(watch: Watch, *, is_last: bool) -> None:
            if self._is_on:
                before = time.thread_time()
                write(watch, is_last=is_last)
                self.thread_s += time.thread_time() - before

        owner: Any = Watch
        owner._write = write_if_on

    def switch(self, *, on: bool) -> None:
        """Put the hook on, or take it off: functions, optimizer hooks and the writing of its thread."""
        now = time.monotonic()
        self.on_s += now - self._switched_at if self._is_on else 0.0
        self._switched_at, self._is_on = now, on
        for owner, name, original, wrapped in self._changed:
            setattr(owner, name, wrapped if on else original)
        for hooks, registered in zip(self._hooks, self._registered, strict=True):
            hooks.clear()
            hooks.update(registered if on else {})


def measure_cost(run: RunSpec, folder: Path, rounds: int) -> dict[str, Any]:
    """Return the seconds per step with and without the hook, of its thread, and of its calls per step."""
    rank = dist.get_rank()
    own = folder.parent / f"{folder.name}-{rank}" if rank else folder
    own.mkdir(exist_ok=True)
    hook = Hook(own)
    take = plain_steps(run, local_rank_info(rank, dist.get_world_size()), CPU)
    steps = max(1, round(BLOCK_S / min(time_steps(take, 5, CPU) for _ in range(3))))
    found: dict[str, list[float]] = {"on": [], "off": []}
    for number in range(rounds):
        for name in ("on", "off") if number % 2 else ("off", "on"):
            hook.switch(on=name == "on")
            found[name].append(time_steps(take, steps, CPU))
    small = _small_steps()
    pairs = [_time_pair(hook, small) for _ in range(SMALL_ROUNDS)]
    return {
        **found,
        "thread_share": hook.thread_s / hook.on_s,
        "calls_s": median(pairs),
        "steps_per_block": steps,
    }


def _time_pair(hook: Hook, small: Callable[[int], None]) -> float:
    """Return the processor time that the hook adds to a step of the smallest net: other work disturbs it less."""
    spent_s = []
    for on in (False, True):
        hook.switch(on=on)
        dist.barrier()
        before = time.thread_time()
        small(SMALL_STEPS)
        spent_s.append((time.thread_time() - before) / SMALL_STEPS)
    return spent_s[1] - spent_s[0]


def _small_steps() -> Callable[[int], None]:
    """Return steps of one weight under DDP, with a batch of a DataLoader and one collective of the program."""
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    data: Any = dataloader.DataLoader(TensorDataset(torch.ones(SMALL_STEPS, 1)), batch_size=1)
    loss_1 = torch.zeros(1)

    def take(steps: int) -> None:
        for (x_B1,) in data:
            optimizer.zero_grad()
            model(x_B1).sum().backward()
            optimizer.step()
            dist.all_reduce(loss_1)

    return take
