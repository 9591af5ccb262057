"""The net has the layout of its images, its kernels those of the spec, and a compiled net trains as it does without."""

import copy
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from torch import nn

from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.models.group_batch_norm import join
from trainers.models.resnet import ResNet
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import local_rank_info
from trainers.training import engine
from trainers.training.diverged import Diverged
from trainers.training.loop import TrainingLoop
from trainers.training.placement import compile_net, find_blocks, place, set_kernels

TINY: dict[str, Any] = {
    "model": {"kind": "convnet", "width": 4},
    "optimizer": {"kind": "sgd", "momentum": 0.9},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 32,
    "epochs": 1,
    "seed": 3,
}


def loop_of(path: str, **choices: Any) -> TrainingLoop:
    folder = RunFolder(Path(path))
    folder.path.mkdir(parents=True, exist_ok=True)
    run = RunSpec.model_validate(TINY | choices)
    return engine.make_loop(run, local_rank_info(0, 1), device=torch.device("cpu"), report=Reporter(folder, 1, rank=0))


def train(path: str, choices: dict[str, Any]) -> tuple[list[float], list[list[int]], dict[str, float]]:
    """Take three steps; return the losses, the strides of weights and images, and the evaluation."""
    loop = loop_of(path, **choices)
    assert not loop.feed.loader.pins, "a run on CPUs uses no GPU's memory, whatever its host has"
    at = loop.run.batch_schedule.position(0)
    batches, losses, seen = loop.feed.epoch_batches(at), [], []
    take = loop.step

    def take_and_note(*arguments: Any, **named: Any) -> float:
        losses.append(take(*arguments, **named))
        return losses[-1]

    first = next(module for module in loop.state.model.modules() if isinstance(module, nn.Conv2d))
    first.register_forward_pre_hook(lambda _, inputs: seen.append(list(inputs[0].stride())))
    with mock.patch.object(loop, "step", take_and_note):
        for _ in range(3):
            loop.take_step(batches, at)
    strides = [list(p.stride()) for p in loop.state.model.parameters() if p.dim() == 4]
    values = loop.evaluation(loop.state.model)
    loop.feed.close()
    return losses, [*strides, *seen], values


@pytest.mark.ring("all")
def test_channels_last_moves_the_weights_too(tmp_path: Path) -> None:
    ((_, plain, expected),) = on_ranks(1, train, str(tmp_path / "plain"), {})
    ((_, last, values),) = on_ranks(1, train, str(tmp_path / "last"), {"channels_last": True})
    weights = [strides for strides in last if strides[1] == 1]
    assert len(weights) == len(last), "every 4-dimensional weight and image has its channels innermost"
    assert last != plain
    assert values == pytest.approx(expected, rel=1e-4)


@pytest.mark.ring("all")
def test_channels_last_weights_keep_their_layout_under_elastic_averaging(tmp_path: Path) -> None:
    easgd = {"kind": "easgd", "variant": "sync3", "period": 1, "rho": 0.1}
    ((_, last, _),) = on_ranks(1, train, str(tmp_path), {"channels_last": True, "rule": easgd})
    assert all(strides[1] == 1 for strides in last)


def test_placing_keeps_the_layout_without_the_field() -> None:
    conv = place(nn.Conv2d(2, 3, 3), torch.device("cpu"), channels_last=False)
    assert conv.weight.is_contiguous()


@pytest.mark.parametrize("tf32", [False, True])
def test_tf32_is_what_the_spec_says_in_convolutions_and_products(tf32: bool) -> None:
    """Without the field torch computes float32 convolutions in TF32."""
    backends = torch.backends
    before = backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32, backends.cudnn.benchmark
    try:
        set_kernels(tf32=tf32, cudnn_benchmark=tf32)
        assert (backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32) == (tf32, tf32)
        assert backends.cudnn.benchmark is tf32
        assert (backends.cuda.matmul.fp32_precision == "tf32") is tf32  # what the compiler reads
        assert (backends.cudnn.conv.fp32_precision == "tf32") is tf32
        assert (backends.cudnn.rnn.fp32_precision == "tf32") is tf32
    finally:
        backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32, backends.cudnn.benchmark = before


def kernels_of(path: str, choices: dict[str, Any]) -> tuple[bool, bool, bool]:
    loop_of(path, **choices).feed.close()
    return torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.benchmark


@pytest.mark.ring("all")
def test_the_engine_sets_the_kernels_of_the_spec(tmp_path: Path) -> None:
    assert on_ranks(1, kernels_of, str(tmp_path), {}) == [(False, False, False)]
    assert on_ranks(1, kernels_of, str(tmp_path), {"tf32": True, "cudnn_benchmark": True}) == [(True, True, True)]


def compile_and_train(path: str) -> tuple[list[float], list[float], dict[str, int], dict[str, float], dict[str, float]]:
    from torch._dynamo.utils import counters

    losses, _, expected = train(f"{path}/plain", {})
    counters.clear()
    compiled, _, values = train(f"{path}/compiled", {"compile": True})
    return losses, compiled, dict(counters["stats"]), expected, values


@pytest.mark.ring("all")
def test_a_compiled_net_trains_as_without(tmp_path: Path) -> None:
    """With torch's default compiler, which calls the C++ compiler of this machine."""
    ((losses, compiled, stats, expected, values),) = on_ranks(1, compile_and_train, str(tmp_path))
    assert stats["unique_graphs"] >= 1
    assert compiled == pytest.approx(losses, rel=1e-4)
    assert values == pytest.approx(expected, rel=1e-3)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(256, 256), nn.LayerNorm(256)

    def forward(self, x_BD: torch.Tensor) -> torch.Tensor:
        return x_BD + torch.tanh(self.norm(self.layer(x_BD)))


class Net(nn.Module):
    """Four blocks; notes the order in which gradients arrive and in which blocks begin their backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks, self.events = nn.Sequential(*[Block() for _ in range(4)]), list[str]()
        for number, block in enumerate(self.blocks):
            layer = block.layer
            assert isinstance(layer, nn.Linear)
            layer.weight.register_post_accumulate_grad_hook(lambda _, number=number: self.events.append(f"g{number}"))

    def forward(self, x_BD: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.blocks(x_BD)).square().mean()


def order_of_gradients(world: int) -> list[str]:
    """Return the order of the gradients and of the arrival of backward at the inputs of the second block."""
    torch.manual_seed(0)
    net = Net()
    compile_net(net, world=world)
    inputs: list[torch.Tensor] = []
    net.blocks[2].register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    x_BD = torch.randn(8, 256)
    for _ in range(2):
        net.events.clear()
        loss = net(x_BD)
        if world > 1:
            inputs[-1].register_hook(lambda _: net.events.append("backward is at block 1"))
        loss.backward()
    return net.events


@pytest.mark.ring("all")
def test_with_several_ranks_gradients_of_a_compiled_net_arrive_block_by_block() -> None:
    (events,) = on_ranks(1, order_of_gradients, 2)
    assert events == ["g3", "g2", "backward is at block 1", "g1", "g0"]


def train_a_sequence() -> tuple[int, bool]:
    from torch._dynamo.utils import counters

    torch.manual_seed(0)
    net, x_BD = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), torch.randn(2, 4)
    expected = net(x_BD)
    compile_net(net, world=1)
    same = torch.allclose(net(x_BD), expected, atol=1e-6)
    return counters["stats"]["unique_graphs"], same


@pytest.mark.ring("all")
def test_a_net_that_is_a_sequence_of_torch_is_compiled_too() -> None:
    """torch's own Module.compile does nothing for it, without a word."""
    assert on_ranks(1, train_a_sequence) == [(1, True)]


def train_with_group_norm() -> tuple[bool, list[str]]:
    torch.manual_seed(0)
    net, x_BD = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh()), torch.randn(6, 4)
    join(net, lambda x_C: x_C.unsqueeze(0).expand(2, -1).contiguous())  # two ranks with equal batches
    expected = net(x_BD)
    compile_net(net, world=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = net(x_BD)
    return torch.allclose(found, expected, atol=1e-6), [str(warning.message) for warning in caught]


@pytest.mark.ring("all")
def test_group_batch_normalization_stays_out_of_a_compiled_net() -> None:
    """The compiler would warn that it cannot trace the exchange and its timer."""
    ((same, messages),) = on_ranks(1, train_with_group_norm)
    assert same
    assert not [message for message in messages if "Dynamo" in message]


def test_the_blocks_of_a_net_are_its_modules_of_several_layers() -> None:
    net = ResNet(3, 10, depth=18)
    assert [type(block).__name__ for block in find_blocks(net)] == [type(b).__name__ for b in net.blocks]
    assert find_blocks(nn.Sequential(nn.Linear(1, 1), nn.Tanh())) == []


def diverge(path: str) -> str:
    loop = loop_of(path, compile=True)
    at = loop.run.batch_schedule.position(0)
    batches = loop.feed.epoch_batches(at)
    loop.take_step(batches, at)
    with torch.no_grad():
        next(m for m in loop.state.model.modules() if isinstance(m, nn.Linear)).weight.fill_(torch.inf)
    try:
        loop.take_step(batches, at)
    except Diverged as error:
        return str(error)
    return "it did not diverge"


@pytest.mark.ring("all")
def test_the_diagnosis_finds_the_layer_of_a_compiled_net(tmp_path: Path) -> None:
    """Hooks of layers are no part of a compiled net, so the diagnosis runs the net without compilation."""
    (message,) = on_ranks(1, diverge, str(tmp_path))
    assert "(Linear) on rank 0" in message


@pytest.mark.ring("all")
def test_the_average_of_a_compiled_net_is_not_compiled() -> None:
    net = nn.Linear(2, 1)
    net.compile()
    assert copy.deepcopy(net)._compiled_call_impl is None
