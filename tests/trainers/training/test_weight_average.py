"""The average of the weights equals the formula, and a run evaluates it."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from contract.folder.events import Points
from contract.spec.run import RunSpec
from tests.testing.trainers.attempts import attempt
from tests.testing.trainers.jobs import events, losses, prepare
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
