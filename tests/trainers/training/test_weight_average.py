"""The average of the weights equals the formula, and a run evaluates it."""

import math
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from contract.folder.events import Points
from contract.spec.run import RunSpec
from tests.testing.trainers.attempts import attempt
from tests.testing.trainers.jobs import events, losses, prepare
from tests.testing.trainers.own_nets import Cached
from trainers.build.averages import build_average

SMALL: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 1.0},
    "batch": 64,
    "epochs": 1,
}


def test_the_average_of_the_weights_equals_the_formula() -> None:
    model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.BatchNorm1d(1))
    weight, mean = model[0].weight, model[1].running_mean
    nn.init.constant_(weight, 1.0)
    run = RunSpec.model_validate({**SMALL, "ema_decay": 0.75})
    averaged = build_average(run, model)
    assert averaged is not None
    for value in (2.0, 4.0):
        nn.init.constant_(weight, value)
        mean.fill_(value)
        averaged.update_parameters(model)
    # 0.75 x (0.75 x 1 + 0.25 x 2) + 0.25 x 4; the statistics start at 0
    assert averaged.module[0].weight.item() == pytest.approx(1.9375)
    assert averaged.module[1].running_mean.item() == pytest.approx(0.75 * 0.5 + 1)
    restored = build_average(run, model)
    assert restored is not None
    restored.load_state_dict(averaged.state_dict())
    restored.update_parameters(model)
    averaged.update_parameters(model)
    assert torch.equal(restored.module[0].weight, averaged.module[0].weight)


@pytest.mark.ring("all")
def test_a_run_evaluates_its_average(tmp_path: Path) -> None:
    """An average with a large decay stays near the first weights, with an accuracy of one class in ten."""
    local = {"kind": "local", "ranks_per_node": 2}
    folder = prepare(tmp_path / "run", ema_decay=0.999999, collective={"kind": "native"}, resources=local)
    assert attempt(folder, 1) == [0, 0]
    first, *_, last = losses(folder)
    assert (last or 9) < 0.7 * (first or 0)
    points = [event.values for event in events(folder) if isinstance(event, Points)]
    heldout = [values["heldout_loss"] for values in points if "heldout_loss" in values]
    assert heldout == pytest.approx([math.log(10)] * 2, rel=0.1)


def averaged_after(net: nn.Module, x_BC: torch.Tensor, *, decay: float = 0.9) -> nn.Module:
    """Return the average after some steps of large random updates."""
    averaged = build_average(RunSpec.model_validate({**SMALL, "ema_decay": decay}), net)
    assert averaged is not None
    for _ in range(20):
        with torch.no_grad():
            for p in net.parameters():
                p += torch.randn_like(p)
        net(x_BC)
        averaged.update_parameters(net)
    return averaged.module


def test_the_average_of_a_net_with_spectral_normalization_has_norm_1() -> None:
    """The vectors of the power iteration were averaged, and a mean of unit vectors is shorter."""
    torch.manual_seed(0)
    net = spectral_norm(nn.Linear(8, 8))
    average = averaged_after(net, torch.randn(4, 8)).eval()
    for name, buffer in net.named_buffers():
        assert torch.equal(dict(average.named_buffers())[name], buffer)
    assert float(torch.linalg.matrix_norm(average.weight.detach(), 2)) == pytest.approx(1, abs=0.25)


def test_a_cache_that_changes_its_shape_and_a_counter_are_those_of_the_trained_net() -> None:
    """The cache has no value when the average is built."""
    torch.manual_seed(0)
    net = Cached(4, 2)
    for size in (4, 6):
        average = averaged_after(net, torch.randn(size, 4))
        for name in ("counted", "norm.num_batches_tracked"):
            assert torch.equal(average.get_buffer(name), net.get_buffer(name))
        assert average.get_buffer("cache").shape == (size, 1)


def test_a_frozen_statistic_stays_equal_to_the_bit() -> None:
    net = nn.BatchNorm1d(100, affine=False).eval()
    nn.init.uniform_(net.get_buffer("running_mean"))
    average = averaged_after(net, torch.randn(4, 100), decay=0.7)
    assert torch.equal(average.get_buffer("running_mean"), net.get_buffer("running_mean"))


class Locked(nn.Linear):
    """A layer with a lock, which Python cannot copy."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.lock = threading.Lock()


def test_a_net_that_cannot_be_copied_is_refused_by_the_name_of_its_layer() -> None:
    """The weight of the older weight_norm is computed by a hook; the average of weights is in a copy of the net."""
    run = RunSpec.model_validate({**SMALL, "ema_decay": 0.9})
    hooked = torch.nn.utils.weight_norm(nn.Linear(2, 2))
    with pytest.raises(ValueError, match=r"ema_decay .* weight of its layer 1 \(Linear\) is .*parametrizations"):
        build_average(run, nn.Sequential(nn.ReLU(), hooked))
    locked = Locked(2, 2)
    with pytest.raises(ValueError, match=r"ema_decay .* its layer 0 \(Locked\) cannot be copied: cannot pickle"):
        build_average(run, nn.Sequential(locked))
