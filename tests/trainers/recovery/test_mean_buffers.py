"""The buffers of a checkpoint: means of statistics, all others of rank 0 to the bit, and no caches."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from contract.folder.events import Finished
from tests.testing.trainers.attempts import Signal, attempt
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.jobs import events, prepare
from tests.testing.trainers.own_nets import Cached
from trainers.checkpoints.checkpoint_directory import CheckpointDirectory, rank_part
from trainers.recovery.mean_buffers import mean_buffers
from trainers.rules.sync import Sync
from trainers.training.state import TrainingState

LARGE = 2**60 + 1  # no float64
CHOICES: dict[str, Any] = {
    "model": {"kind": "import", "function": "tests.testing.trainers.own_nets:cached"},
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 240,
    "collective": {"kind": "native"},
    "checkpoint": {"every_epochs": 1, "keep": 9},
}


def saved_by(rank: int) -> dict[str, Tensor]:
    third = torch.full((3,), 1 / 3, dtype=torch.float64)
    return {
        "fixed": third,
        "mean": torch.tensor([float(rank), 0.1]),
        "table": torch.tensor([rank + 0.5]),
        "count": torch.tensor(LARGE + rank),
        "wave": torch.tensor([1j * (rank + 1)]),
        "cache": torch.ones(2),
    }


def means_of(saved_world: int) -> dict[str, Any]:
    read = [saved_by(rank) for rank in range(dist.get_rank(), saved_world, dist.get_world_size())]
    like = {name: torch.zeros_like(of) for name, of in saved_by(0).items() if name != "cache"}
    found = mean_buffers(like, read, statistics={"fixed", "mean"}, world=saved_world)
    return {name: tensor.tolist() for name, tensor in found.items()}


@pytest.mark.parametrize(("world", "saved_world"), [(1, 3), (2, 3), (3, 2)])
def test_statistics_become_the_mean_and_every_other_buffer_is_that_of_rank_0(world: int, saved_world: int) -> None:
    tenth = float(torch.tensor(0.1))
    expected = {"fixed": [1 / 3] * 3, "mean": [(saved_world - 1) / 2, tenth], "table": [0.5], "count": LARGE}
    assert on_ranks(world, means_of, saved_world) == [expected | {"wave": [1j]}] * world


def test_a_checkpoint_of_an_earlier_version_with_caches_can_be_loaded() -> None:
    net = Cached(4, 2)
    net(torch.randn(3, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    state = TrainingState(net, optimizer, Sync(net.parameters(), optimizer, allreduce=lambda x_N: None, world=1))
    cpu = torch.device("cpu")
    shared, own = state.shared_state(), state.rank_state(cpu)
    assert "model.cache" not in own["buffers"]
    earlier = own | {"buffers": own["buffers"] | {"model.cache": torch.zeros(7, 1)}}
    state.load(1, shared, earlier, cpu)
    parameters = {name.removeprefix("model."): p for name, p in shared["parameters"].items()}
    state.start_from(parameters, {name.removeprefix("model."): b for name, b in earlier["buffers"].items()})
    with pytest.raises(ValueError, match=r"this one has no buffer model\.other"):
        state.load(1, shared, own | {"buffers": own["buffers"] | {"model.other": torch.zeros(1)}}, cpu)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("worlds", [(2, 2), (2, 1), (1, 3)])
def test_a_run_with_a_cache_in_its_net_resumes_on_any_number_of_ranks(worlds: tuple[int, int], tmp_path: Path) -> None:
    """The cache has the size of the last evaluation's batch when the run stops, and no value when it resumes."""
    before, after = worlds

    def prepared(name: str, ranks: int) -> Any:
        local = {"kind": "local", "ranks_per_node": ranks}
        return prepare(tmp_path / name, **CHOICES, ema_decay=0.5, resources=local)

    folder = prepared("run", before)
    steps = folder.read_spec().steps
    assert -signal.SIGKILL in attempt(folder, 1, blow=Signal(signal.SIGKILL, after=steps - 1))
    directory = CheckpointDirectory(folder.checkpoints, retained=9)
    (name,) = directory.list_complete()
    buffers = directory.read_part(name, directory.read_manifest(name), rank_part(0))["buffers"]
    assert {"model.cache", "average.cache"}.isdisjoint(buffers)
    prepared("run", after)
    assert attempt(folder, 2) == [0] * after
    assert isinstance(events(folder)[-1], Finished)
