"""A checkpoint is read once, whatever the number of ranks, and all ranks get the same state or the same refusal."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from contract.folder.run_folder import RunFolder
from contract.spec.checkpoint import InitialWeights
from contract.spec.run import RunSpec
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.checkpoints.checkpoint_directory import (
    MANIFEST,
    SHARED,
    CheckpointDirectory,
    Manifest,
    PartState,
    rank_part,
)
from trainers.collectives import bytes_broadcast
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import local_rank_info
from trainers.recovery.initial_weights import load_initial_weights
from trainers.recovery.resume import describe_run, resume
from trainers.training import engine
from trainers.training.state import TrainingState

CPU = torch.device("cpu")
WORLD = 3
SPEC: dict[str, Any] = {
    "model": {"kind": "convnet", "width": 4},
    "optimizer": {"kind": "sgd", "momentum": 0.9},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 60,
    "epochs": 1,
}


def run_of(world: int) -> RunSpec:
    return RunSpec.model_validate({**SPEC, "resources": {"kind": "local", "ranks_per_node": world}})


def state_of(path: Path, *, norm: bool = True) -> TrainingState:
    """Return the state of a net of which each rank has other statistics, after one update of all weights."""
    rank, folder = dist.get_rank(), RunFolder(path / "run")
    folder.path.mkdir(parents=True, exist_ok=True)
    state = engine.make_loop(
        run_of(dist.get_world_size()),
        local_rank_info(rank, dist.get_world_size()),
        device=CPU,
        report=Reporter(folder, 1, rank=rank),
    ).state
    state.model = nn.Sequential(nn.Linear(4, 6), *([nn.BatchNorm1d(6)] if norm else []))
    state.optimizer = torch.optim.SGD(state.model.parameters(), lr=0.1, momentum=0.9)
    for parameter in state.model.parameters():
        parameter.grad = torch.rand_like(parameter)
    state.optimizer.step()
    return state


def save(path: Path, saved_world: int, *, norm: bool = True, step: int = 7) -> dict[str, Any]:
    """Write a checkpoint of `saved_world` ranks on rank 0; return its shared state."""
    state = state_of(path, norm=norm)
    if dist.get_rank() == 0:
        directory = CheckpointDirectory(path / "checkpoints", retained=2)
        shared, own = state.shared_state(), state.rank_state(CPU)
        sums = {SHARED: directory.write_part(step, 1, SHARED, shared)}
        for rank in range(saved_world):
            statistics = {name: tensor + rank for name, tensor in own["buffers"].items()}
            sums[rank_part(rank)] = directory.write_part(step, 1, rank_part(rank), own | {"buffers": statistics})
        directory.write_manifest(Manifest(step, 1, saved_world, describe_run(run_of(saved_world), {}), sums))
        sent: list[Any] = [shared, own["buffers"]]
    else:
        sent = [None, None]
    dist.broadcast_object_list(sent)
    return {"shared": sent[0], "buffers": sent[1]}


def count_opens(folder: Path) -> Counter[str]:
    """Return a counter that counts every file below a folder that this process opens from now on, and each listing."""
    counts: Counter[str] = Counter()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(str(folder)):
            counts[Path(str(arguments[0])).name] += 1

    sys.addaudithook(note)
    return counts


def resume_counted(path: str, saved_world: int) -> tuple[dict[str, int], bool]:
    """Return the files that this rank opened, and whether it has the saved state to the bit."""
    folder, rank = Path(path), dist.get_rank()
    saved = save(folder, saved_world)
    state = state_of(folder)
    directory = CheckpointDirectory(folder / "checkpoints", retained=2)
    counts = count_opens(directory.folder(7, 1))
    info = local_rank_info(rank, WORLD)
    found = resume(directory, run_of(WORLD), info, state, CPU, data={})
    assert found is not None
    counted = dict(counts)
    mean = rank if saved_world == WORLD else (saved_world - 1) / 2
    expected = {f"{name}": tensor + mean for name, tensor in saved["buffers"].items() if "running" in name}
    is_same = equal(state.shared_state() | {"trained_s": 0}, saved["shared"] | {"trained_s": 0})
    statistics = {name: tensor for name, tensor in state.buffers().items() if "running" in name}
    return counted, is_same and all(torch.allclose(statistics[name], expected[name]) for name in expected)


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


@pytest.mark.ring("all")
@pytest.mark.parametrize("saved_world", [WORLD, 5, 2])
def test_a_resumed_run_reads_each_file_once(saved_world: int, tmp_path: Path) -> None:
    """Every rank used to read the manifest and the shared part."""
    found = on_ranks(WORLD, resume_counted, str(tmp_path), saved_world)
    assert all(is_same for _, is_same in found)
    for rank, (counts, _) in enumerate(found):
        own = [rank_part(part) for part in range(saved_world) if part % WORLD == rank]
        assert counts == dict.fromkeys([*([MANIFEST, SHARED] if rank == 0 else []), *own], 1)


def start_counted(path: str, saved_world: int, norm: bool) -> tuple[dict[str, int], int, bool]:
    """Start from a checkpoint; return the opened files, the bytes that came from rank 0, and whether they are right."""
    folder, rank = Path(path), dist.get_rank()
    saved = save(folder, saved_world, norm=norm)
    state = state_of(folder, norm=norm)
    directory = CheckpointDirectory(folder / "checkpoints", retained=2)
    counts = count_opens(directory.folder(7, 1))
    sizes: list[int] = []
    real = bytes_broadcast._broadcast

    def count_bytes(part_b: torch.Tensor) -> None:
        sizes.append(part_b.numel())
        real(part_b)

    bytes_broadcast._broadcast = count_bytes
    name = directory.folder(7, 1).name
    weights = InitialWeights(run=1, folder=str(folder), checkpoint=name)
    load_initial_weights(weights, state, rank=rank, world=WORLD)
    counted = dict(counts)
    parameters = {f"model.{name}": p.detach() for name, p in state.model.named_parameters()}
    return counted, sizes[-1], equal(parameters, dict(saved["shared"]["parameters"]))


@pytest.mark.ring("all")
@pytest.mark.parametrize(("saved_world", "norm"), [(WORLD, True), (5, True), (5, False)])
def test_initial_weights_read_what_they_need(saved_world: int, norm: bool, tmp_path: Path) -> None:
    """Where the worlds differ, every rank used to read the parts of all; and the optimizer's state travels to none."""
    found = on_ranks(WORLD, start_counted, str(tmp_path), saved_world, norm)
    shared_bytes = next(tmp_path.glob(f"checkpoints/*/{SHARED}")).stat().st_size
    for rank, (counts, sent_bytes, is_same) in enumerate(found):
        own = [rank_part(part) for part in range(saved_world) if part % WORLD == rank] if norm else []
        assert counts == dict.fromkeys([*([MANIFEST, SHARED] if rank == 0 else []), *own], 1)
        assert sent_bytes < 0.75 * shared_bytes, "the weights are half of weights and momentum"
        assert is_same


def resume_torn(path: str, torn: str) -> tuple[int, list[str], bool]:
    """Truncate a file of the newest of two checkpoints, and resume."""
    folder, rank = Path(path), dist.get_rank()
    saved = save(folder, WORLD, step=7)
    save(folder, WORLD, step=9)
    directory = CheckpointDirectory(folder / "checkpoints", retained=2)
    if rank == 0:
        os.truncate(directory.folder(9, 1) / torn, (directory.folder(9, 1) / torn).stat().st_size - 9)
    dist.barrier()
    state = state_of(folder)
    found = resume(directory, run_of(WORLD), local_rank_info(rank, WORLD), state, CPU, data={})
    assert found is not None
    return found.step, found.notes, equal(state.shared_state()["parameters"], saved["shared"]["parameters"])


@pytest.mark.ring("all")
@pytest.mark.parametrize("torn", [MANIFEST, SHARED, rank_part(2)])
def test_all_ranks_pass_over_a_torn_file_though_one_rank_alone_reads_it(torn: str, tmp_path: Path) -> None:
    found = on_ranks(WORLD, resume_torn, str(tmp_path), torn)
    assert [step for step, _, _ in found] == [7] * WORLD
    assert all(is_same for _, _, is_same in found)
    notes = {tuple(notes) for _, notes, _ in found}
    assert len(notes) == 1
    assert torn in notes.pop()[0]
    assert list(tmp_path.glob("checkpoints/damaged-*"))


def resume_without_rank_0(path: str) -> str:
    """Rank 0 ends when it has announced the shared part, before it sends it."""
    folder, rank = Path(path), dist.get_rank()
    save(folder, WORLD)
    state = state_of(folder)
    directory = CheckpointDirectory(folder / "checkpoints", retained=2)
    if rank == 0:
        calls = iter(range(2))
        real = bytes_broadcast._broadcast

        def end(part_b: torch.Tensor) -> None:
            if next(calls):
                os._exit(1)
            real(part_b)

        bytes_broadcast._broadcast = end
    try:
        resume(directory, run_of(WORLD), local_rank_info(rank, WORLD), state, CPU, data={})
    except RuntimeError as error:
        return str(error)
    return ""


@pytest.mark.ring("all")
def test_a_kill_of_the_rank_that_sends_ends_the_others_and_harms_no_checkpoint(tmp_path: Path) -> None:
    _, *errors = on_ranks(WORLD, resume_without_rank_0, str(tmp_path), victim=0)
    assert all("onnection" in error for error in errors)
    directory = CheckpointDirectory(tmp_path / "checkpoints", retained=2)
    (name,) = directory.list_complete()
    manifest = directory.read_manifest(name)
    states: list[PartState] = [directory.read_part(name, manifest, part) for part in manifest.parts]
    assert len(states) == WORLD + 1
