"""The state of a user's optimizer: with all its types after a resume, or refused before a step is lost."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from contract.folder.events import Failed
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from tests.testing.trainers.attempts import Signal, attempt, curve
from tests.testing.trainers.broken_parts import WideMomentum
from tests.testing.trainers.jobs import events, prepare
from trainers.build.optimizers import build_optimizer
from trainers.checkpoints.checkpoint_directory import CheckpointDirectory
from trainers.checkpoints.checkpoint_writer import copy_state

HERE = "tests.testing.trainers.broken_parts"
KILL = signal.SIGKILL


def own(name: str, **options: Any) -> dict[str, Any]:
    return {"kind": "import", "function": f"{HERE}:{name}", "options": options}


def run_of(path: Path, optimizer: dict[str, Any], *, ranks: int, sixteen_bits: bool = False) -> RunFolder:
    data = own("images", samples=96, heldout=10) | {"shape": [1, 8, 8], "classes": 4}
    return prepare(
        path,
        model=own("plain_net", sixteen_bits=sixteen_bits),
        data=data | {"train_samples": 96, "heldout_samples": 10},
        optimizer=optimizer,
        schedule={"kind": "constant", "rate": 0.05},
        batch=24,
        epochs=2,
        collective={"kind": "native"},
        checkpoint={"every_steps": 2, "keep": 5},
        resources={"kind": "local", "ranks_per_node": ranks},
    )


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("name", "ranks"), [("WideMomentum", 2), ("WideMomentum", 1), ("Doubled", 2)])
def test_a_killed_run_with_float32_state_of_16_bit_weights_resumes_to_the_bit(
    name: str, ranks: int, tmp_path: Path
) -> None:
    """The state has a text, a shared count, nested tuples and lists; `Doubled` gives torch a part of its state dict."""
    whole = run_of(tmp_path / "whole", own(name), ranks=ranks, sixteen_bits=True)
    assert attempt(whole, 1) == [0] * ranks
    killed = run_of(tmp_path / "killed", own(name), ranks=ranks, sixteen_bits=True)
    victims = list(range(ranks))
    assert attempt(killed, 1, blow=Signal(KILL, after=5), victims=victims) == [-KILL] * ranks
    assert attempt(killed, 2) == [0] * ranks
    for series in ("loss", "heldout_loss"):
        assert curve(killed, series) == curve(whole, series)


def trained(steps: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    net = nn.Linear(3, 2).bfloat16()
    spec = {"optimizer": own("WideMomentum"), "schedule": {"kind": "constant", "rate": 0.1}, "batch": 8, "epochs": 1}
    optimizer = build_optimizer(RunSpec.model_validate(spec), net)
    for _ in range(steps):
        take_step(net, optimizer)
    return net, optimizer


def take_step(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.param_groups[0]["lr"] = 0.1
    for p in net.parameters():
        p.grad = torch.full_like(p, 0.3)
    optimizer.step()


def test_the_loaded_state_has_the_types_values_and_shared_tensors_of_the_saved_one() -> None:
    net, optimizer = trained(3)
    again_net, again = trained(0)
    again_net.load_state_dict(net.state_dict())
    again.load_state_dict(copy_state(optimizer.state_dict()))
    weight, bias = (again.state[p] for p in again_net.parameters())
    assert weight["count"] is bias["count"]
    for p, q in zip(net.parameters(), again_net.parameters(), strict=True):
        one, other = optimizer.state[p], again.state[q]
        assert [type(value) for value in one.values()] == [type(value) for value in other.values()]
        assert other["v"].dtype is torch.float32
        assert torch.equal(one["v"], other["v"])
        assert (other["kind"], int(other["count"]), other["last"][0]) == ("wide", 3, one["last"][0])
        assert torch.equal(one["last"][1][0], other["last"][1][0])
    take_step(net, optimizer)
    take_step(again_net, again)
    assert all(torch.equal(p, q) for p, q in zip(net.parameters(), again_net.parameters(), strict=True))


def test_what_an_optimizer_itself_converts_after_loading_stays_converted() -> None:
    """torch's Adam of earlier versions stored its count as a number; `__setstate__` makes a tensor of it."""
    p = nn.Parameter(torch.ones(2))
    spec = {"optimizer": {"kind": "adam"}, "schedule": {"kind": "constant", "rate": 0.1}, "batch": 8, "epochs": 1}
    net = nn.Module()
    net.p = p
    optimizer = build_optimizer(RunSpec.model_validate(spec), net)
    p.grad = torch.ones(2)
    optimizer.step()
    state = copy_state(optimizer.state_dict())
    state["state"][0]["step"] = 1.0
    optimizer.load_state_dict(state)
    assert isinstance(optimizer.state[p]["step"], torch.Tensor)


def test_a_checkpoint_of_other_groups_is_refused_with_the_sizes_of_both() -> None:
    spec = {"schedule": {"kind": "constant", "rate": 0.1}, "batch": 8, "epochs": 1}
    net = nn.MultiheadAttention(4, 1)
    choices = [{"kind": "adam", "no_weight_decay": left_out} for left_out in ("none", "bias_and_norm")]
    all_alike, divided = (
        build_optimizer(RunSpec.model_validate(spec | {"optimizer": choice}), net) for choice in choices
    )
    expected = "the checkpoint's optimizer has groups of 4 parameters, and this run's has groups of 2 and 2: the net or"
    with pytest.raises(ValueError, match=expected):
        divided.load_state_dict(copy_state(all_alike.state_dict()))


def failure_of(folder: RunFolder, ranks: int) -> str:
    assert attempt(folder, 1) == [1] * ranks
    *_, failed = events(folder)
    assert isinstance(failed, Failed)
    return failed.reason


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1, 3])
def test_groups_that_cannot_be_read_back_are_refused_before_the_first_step(ranks: int, tmp_path: Path) -> None:
    folder = run_of(tmp_path, own("Unstorable"), ranks=ranks)
    expected = (
        "the optimizer's group 0 has `decay` of type numpy.float64, which a checkpoint cannot hold: use float(...)"
    )
    assert expected in failure_of(folder, ranks)
    assert curve(folder) == {}


@pytest.mark.parametrize(("after", "steps"), [(1, 1), (5, 6)])
def test_a_state_that_cannot_be_read_back_is_refused_after_the_first_step_and_at_a_save(
    after: int, steps: int, tmp_path: Path
) -> None:
    folder = run_of(tmp_path, own("Unstorable", after=after), ranks=2)
    reason = failure_of(folder, 2)
    assert "the optimizer's state of 1.weight has `decay` of type numpy.float64, which a checkpoint cannot" in reason
    assert list(curve(folder)) == list(range(1, steps + 1))
    saved = ["step-0000000004-attempt-1", "step-0000000002-attempt-1"] if steps == 6 else []
    assert CheckpointDirectory(folder.checkpoints, retained=5).list_complete() == saved


def test_torch_s_hooks_of_the_optimizer_are_where_the_types_are_restored() -> None:
    """Without them the momentum of 16-bit weights has 16 bits after a resume: the reason for ExactState."""
    net = nn.Linear(3, 2).bfloat16()
    plain = WideMomentum(net.parameters())
    take_step(net, plain)
    plain.load_state_dict(copy_state(plain.state_dict()))
    assert plain.state[net.weight]["v"].dtype is torch.bfloat16
