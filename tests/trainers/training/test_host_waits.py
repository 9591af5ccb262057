"""A step makes the host wait for the GPU once, and what it waits for was begun before the backward pass."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.host_reads import HostReads
from trainers.build import rules as build_rules
from trainers.build.averages import build_average
from trainers.optimizers import gradient_check, momentum
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import local_rank_info
from trainers.rules import early_means
from trainers.training import engine
from trainers.training.loop import TrainingLoop

SPEC: dict[str, Any] = {
    "model": {"kind": "resnet18"},
    "data": {"kind": "synthetic", "height": 32, "width": 32, "classes": 4, "train_samples": 64},
    "optimizer": {"kind": "lars"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 8,
    "micro_batch": 2,
    "epochs": 1,
    "clip_norm": 1.0,
}


def make(path: str, choices: dict[str, Any]) -> TrainingLoop:
    world = dist.get_world_size()
    resources = {"kind": "local", "ranks_per_node": world}
    run = RunSpec.model_validate({**SPEC, "resources": resources, **choices})
    folder = RunFolder(Path(path))
    folder.path.mkdir(parents=True, exist_ok=True)
    rank = local_rank_info(dist.get_rank(), world)
    return engine.make_loop(run, rank, device=torch.device("cpu"), report=Reporter(folder, 1, rank=rank.rank))


def note_parts(loop: TrainingLoop, events: list[str]) -> None:
    """Note the begin and the end of the last backward pass, and the update."""
    backward, update = loop.step._backward, loop.state.optimizer.step

    def noting_backward(loss: Tensor) -> None:
        events.append("backward")
        backward(loss)
        events.append("end of backward")

    loop.step._backward = noting_backward  # type: ignore[method-assign]
    loop.state.optimizer.register_step_pre_hook(lambda *_: events.append("update"))
    assert update


def events_of_a_step(path: str, as_on_gpus: bool, choices: dict[str, Any]) -> list[str]:
    """Take a step, and return the events of a second one."""
    with mock.patch.object(build_rules, "are_early", return_value=as_on_gpus):
        loop = make(path, choices)
    at = loop.run.batch_schedule.position(0)
    batches = loop.feed.epoch_batches(at)

    def passes() -> Iterable[Any]:
        return [next(batches) for _ in range(loop.feed.passes_per_step(0))]

    samples = loop.feed.samples_per_step(0)
    with mock.patch.object(momentum, "_is_fusible", return_value=False):  # the fused kernel is for CPUs alone
        loop.step(passes(), samples=samples)
    second = passes()  # a batch is made on the host
    # torch's Adam has its count of steps in the host's memory, also on a GPU
    states = loop.state.optimizer.state.values()
    reads = HostReads(on_host=[state["step"] for state in states if isinstance(state.get("step"), Tensor)])
    note_parts(loop, reads.events)
    is_on_gpu = mock.patch.object(gradient_check, "is_on_host", return_value=not as_on_gpus)
    with mock.patch.object(momentum, "_is_fusible", return_value=False), is_on_gpu, reads:
        loop.step(second, samples=samples)
    loop.feed.close()
    return reads.events


def waits(events: list[str]) -> list[str]:
    parts = {"backward", "end of backward", "update", "begin copy"}
    return [event for event in events if event not in parts]


@pytest.mark.ring("all")
@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("optimizer", ["lars", "sgd", "lamb", "adamw"])
def test_a_synchronous_step_waits_once_for_what_began_before_backward(
    world: int, optimizer: str, tmp_path: Path
) -> None:
    choices = {"optimizer": {"kind": optimizer}}
    for events in on_ranks(world, events_of_a_step, str(tmp_path), True, choices):
        assert waits(events) == ["read copy"], events
        last_backward = len(events) - 1 - events[::-1].index("backward")
        assert events.index("begin copy") < last_backward
        assert events.index("read copy") < events.index("update")


@pytest.mark.ring("all")
def test_where_the_means_travel_with_the_gradients_the_host_waits_before_the_update(tmp_path: Path) -> None:
    """This is how a step was on GPUs too: the count finds the waits."""
    for events in on_ranks(2, events_of_a_step, str(tmp_path), False, {}):
        after = events[events.index("end of backward") :]
        assert "tolist" in after[: after.index("update")]
        assert len(waits(events)) > 1


@pytest.mark.ring("all")
@pytest.mark.parametrize("variant", ["sync1", "sync2", "sync3"])
def test_an_elastic_step_on_copies_of_the_center_waits_once_at_its_end(variant: str, tmp_path: Path) -> None:
    rule = {"kind": "easgd", "variant": variant, "rho": 0.1, "period": 1}
    choices = {"rule": rule, "optimizer": {"kind": "sgd", "momentum": 0.9}, "clip_norm": None}
    for events in on_ranks(2, events_of_a_step, str(tmp_path), True, choices):
        assert waits(events) == ["tolist"], events
        assert events.index("tolist") > events.index("update")


def losses(path: str, as_on_gpus: bool, choices: dict[str, Any]) -> tuple[list[float], list[Tensor]]:
    with mock.patch.object(build_rules, "are_early", return_value=as_on_gpus):
        loop = make(os.path.join(path, str(as_on_gpus)), choices)
    at = loop.run.batch_schedule.position(0)
    batches, found = loop.feed.epoch_batches(at), []
    for _ in range(4):
        passes = [next(batches) for _ in range(loop.feed.passes_per_step(0))]
        loop.step.agreement.wants_save = dist.get_rank() == 1
        found.append(loop.step(passes, samples=loop.feed.samples_per_step(0)))
        found.append(float(loop.step.agreement.agreed_save))
    loop.feed.close()
    return found, [p.detach() for p in loop.state.model.parameters()]


def both_losses(path: str, choices: dict[str, Any]) -> list[Any]:
    return [losses(path, as_on_gpus, choices) for as_on_gpus in (False, True)]


@pytest.mark.ring("all")
def test_early_means_change_no_weight_and_carry_the_requests(tmp_path: Path) -> None:
    for (expected, weights), (found, early_weights) in on_ranks(2, both_losses, str(tmp_path), {}):
        assert found == pytest.approx(expected, rel=1e-6)
        assert found[1::2] == [1.0] * 4
        assert all(torch.equal(p, q) for p, q in zip(weights, early_weights, strict=True))


def diverge(path: str) -> tuple[bool, list[bool]]:
    with mock.patch.object(build_rules, "are_early", return_value=True):
        loop = make(path, {"micro_batch": None})
    at = loop.run.batch_schedule.position(0)
    batches = loop.feed.epoch_batches(at)
    before = [p.detach().clone() for p in loop.state.model.parameters()]
    inputs, target = next(batches)
    if dist.get_rank() == 1:
        inputs = (torch.full_like(inputs[0], torch.nan),)
    loss = loop.step([(inputs, target)], samples=len(target))
    loop.feed.close()
    return loss != loss, [torch.equal(p, old) for p, old in zip(loop.state.model.parameters(), before, strict=True)]


@pytest.mark.ring("all")
def test_early_means_leave_the_weights_of_a_diverged_step_for_the_diagnosis(tmp_path: Path) -> None:
    """Forces a loss that is not a number on one of two ranks."""
    for is_nan, unchanged in on_ranks(2, diverge, str(tmp_path)):
        assert is_nan
        assert all(unchanged)


def test_means_are_early_on_gpus_alone() -> None:
    assert early_means.are_early("cuda")
    assert not early_means.are_early("cpu")


def test_the_average_of_the_weights_waits_for_nothing_and_is_torchs() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    run = RunSpec.model_validate({**SPEC, "ema_decay": 0.9})
    ours = build_average(run, net)
    theirs = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    theirs.update_parameters(net)
    assert ours is not None
    for _ in range(3):
        net(torch.randn(4, 3))
        with torch.no_grad():
            for p in net.parameters():
                p += torch.randn_like(p)
        theirs.update_parameters(net)
        with HostReads(on_host=[ours.n_averaged]) as reads:
            ours.update_parameters(net)
        assert waits(reads.events) == []
    for name, expected in theirs.state_dict().items():
        if "num_batches" not in name:  # torch averages this count too
            assert torch.equal(ours.state_dict()[name], expected), name
