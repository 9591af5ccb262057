"""One rank of the benchmark of the injected time split; rank 0 prints the result."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from benchmarks.rank_group import run_rank
from benchmarks.time_split.cost import measure_cost
from bigbatch.injected.progress import Progress
from bigbatch.injected.step_timer import StepTimer
from bigbatch.injected.torch_calls import TorchCalls
from contract import metric_names
from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.spec.choices.rules import Sync
from contract.spec.run import RunSpec
from trainers.build.data import build_data
from trainers.build.models import build_model
from trainers.progress.reporter import Reporter
from trainers.progress.step_metrics import split_times
from trainers.ranks.rank_info import local_rank_info
from trainers.training.engine import make_loop

BLOCK_STEPS = 6
CPU = torch.device("cpu")


def main() -> None:
    """Execute the task in the environment variable TASK."""
    run_rank(measure)


def measure(task: dict[str, Any]) -> Any:
    """Return what a part of the benchmark measures."""
    run = RunSpec.model_validate(task["run"])
    with tempfile.TemporaryDirectory() as folder:
        part: Callable[[RunSpec, Path, int], Any] = measure_cost if task["part"] == "cost" else compare_shares
        return part(run, Path(folder), task["rounds"])


def compare_shares(run: RunSpec, folder: Path, rounds: int) -> list[dict[str, Any]]:
    """Return the shares of the parts in each round, by the engine and by the hook."""
    rank = dist.get_rank()
    timer = StepTimer()
    TorchCalls(timer, Progress(), lambda: None).wrap(torch)
    info = local_rank_info(rank, dist.get_world_size())
    take_plain = ddp_steps(run)
    take_plain(3)  # before the engine's optimizer, so that the hook counts the steps of this one
    training = make_loop(run, info, device=CPU, report=Reporter(RunFolder(folder), 1, rank=rank))
    at = run.batch_schedule.position(0)
    batches = training.feed.epoch_batches(at)

    def take_engine() -> None:
        for _ in range(BLOCK_STEPS):
            training.take_step(batches, at)
        training.metrics.flush()

    take_engine()
    found = []
    for number in range(rounds):
        by_name: dict[str, dict[str, float]] = {}
        for name in ("engine", "hook") if number % 2 else ("hook", "engine"):
            dist.barrier()
            if name == "engine":
                seen = _count_lines(folder)
                take_engine()
                by_name[name] = _engine_shares(folder, seen) if rank == 0 else {}
            else:
                timer.take_ended()
                take_plain(BLOCK_STEPS + 1)
                by_name[name] = _hook_shares(timer)
        found.append(by_name)
    return found


def ddp_steps(run: RunSpec) -> Callable[[int], None]:
    """Return steps of an ordinary loop; without overlap DDP sums all gradients as one bucket, as the engine does."""
    rank, world = dist.get_rank(), dist.get_world_size()
    overlap = isinstance(run.rule, Sync) and run.rule.overlap
    model = DistributedDataParallel(build_model(run), bucket_cap_mb=None if overlap else 1_000_000)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)
    train, _ = build_data(run.data, run.seed)
    batches = _batches(train, run.batch, share=slice(rank, None, world))

    def take(steps: int) -> None:
        for _ in range(steps):
            x_BCHW, y_B = next(batches)
            optimizer.zero_grad()
            loss: torch.Tensor = cross_entropy(model(x_BCHW), y_B)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    return take


def _batches(train: Any, batch: int, *, share: slice) -> Iterator[tuple[Tensor, Tensor]]:
    while True:
        yield train.batch(torch.randint(len(train), (batch,))[share])


def _hook_shares(timer: StepTimer) -> dict[str, float]:
    """Return the shares over all ranks; the first step of a block contains what precedes the block."""
    own_S4 = torch.tensor([seconds for _, seconds in timer.take_ended()[1:]], dtype=torch.float64)
    assert len(own_S4) == BLOCK_STEPS
    times_RS4 = own_S4.new_empty(dist.get_world_size(), *own_S4.shape)
    dist.all_gather(list(times_RS4.unbind()), own_S4)
    parts_RS5, _ = split_times(times_RS4)
    return _shares(parts_RS5.sum(dim=(0, 1)))


def _count_lines(folder: Path) -> int:
    events = folder / "events.jsonl"
    return len(events.read_text().splitlines()) if events.exists() else 0


def _engine_shares(folder: Path, seen: int) -> dict[str, float]:
    events = [event_reader.validate_json(line) for line in (folder / "events.jsonl").read_text().splitlines()[seen:]]
    values = [event.values for event in events if isinstance(event, Points)]
    assert len(values) == BLOCK_STEPS
    return _shares(torch.tensor([sum(value[part] or 0.0 for value in values) for part in metric_names.TIME_PARTS]))


def _shares(seconds_5: Tensor) -> dict[str, float]:
    names = [name.removesuffix("_s") for name in metric_names.TIME_PARTS]
    return dict(zip(names, (seconds_5 / seconds_5.sum()).tolist(), strict=True))
