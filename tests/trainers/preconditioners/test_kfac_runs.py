"""Whole runs with K-FAC: killed and resumed to the bit, on other worlds, in float16, with stages, in the time split."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from contract.folder.events import Failed, Finished
from contract.folder.run_folder import RunFolder
from contract.metric_names import COMPUTE_S, FACTORS_S, INVERSES_S, PRECONDITION_S, UPDATE_S
from tests.testing.trainers.attempts import Signal, attempt, curve
from tests.testing.trainers.jobs import events, prepare
from tests.trainers.recovery.test_resume import KILL, SMALL, STEPS, curve_of_last, local
from trainers.preconditioners.kfac import KFAC
from trainers.preconditioners.options import KFACOptions, Staged
from trainers.training.precision import LossScale

EVERY = {"kind": "kfac", "factor_every": 2, "inverse_every": 3}
CASES: dict[str, dict[str, Any]] = {
    "comm-opt-stages-passes": {
        "preconditioner": EVERY | {"stages": [{"step": 4, "factor_every": 3, "damping": 0.1}]},
        "batch_stages": [{"epoch": 1, "batch": 280}],
        "micro_batch": 50,
    },
    "layer-wise-float16": {
        "preconditioner": EVERY | {"variant": "layer_wise", "method": "inverse", "factor_dtype": "float16"},
        "precision": "float16",
        "optimizer": {"kind": "lars"},
        "schedule": {"kind": "constant", "rate": 5.0},
    },
    "hybrid": {
        "preconditioner": EVERY | {"variant": "hybrid", "fraction": 0.5},
        "resources": {"kind": "local", "ranks_per_node": 4},
    },
}


@pytest.mark.ring("all")
@pytest.mark.parametrize("case", CASES)
def test_a_killed_run_resumes_to_the_bit(case: str, tmp_path: Path) -> None:
    """SIGKILL to one rank between two updates of the inverses, and at the last step to all."""
    whole = prepare(tmp_path / "whole", **SMALL | CASES[case])
    ranks = range(whole.read_spec().resources.world)
    assert attempt(whole, 1) == [0 for _ in ranks]
    killed = prepare(tmp_path / "killed", **SMALL | CASES[case])
    for number, (victims, step) in enumerate([([1], 5), (ranks, STEPS)], start=1):
        assert -KILL in attempt(killed, number, blow=Signal(KILL, after=step), victims=victims)
    assert attempt(killed, 3) == [0 for _ in ranks]
    assert curve(killed) == curve(whole)
    assert curve(killed, "heldout_loss") == curve(whole, "heldout_loss")
    assert isinstance(events(killed)[-1], Finished)


@pytest.mark.ring("all")
def test_another_number_of_ranks_goes_on_with_the_same_factors(tmp_path: Path) -> None:
    choices = SMALL | {"preconditioner": EVERY | {"variant": "hybrid", "fraction": 0.5, "factor_every": 1}}
    whole = prepare(tmp_path / "whole", **choices)
    assert attempt(whole, 1, net="plain") == [0, 0]
    folder = prepare(tmp_path / "run", **choices)
    attempt(folder, 1, blow=Signal(KILL, after=6), net="plain")
    folder.prepare(RunFolder(whole.path).read_spec().model_copy(update={"resources": local(folder, 1)}))
    attempt(folder, 2, net="plain")
    assert curve_of_last(folder) == pytest.approx(curve(whole), rel=1e-4)


@pytest.mark.ring("all")
def test_the_time_split_has_the_parts_of_kfac(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", **SMALL | {"preconditioner": EVERY})
    assert attempt(folder, 1) == [0, 0]
    factors, inverses = curve(folder, FACTORS_S), curve(folder, INVERSES_S)
    for step in curve(folder):
        number = step - 1
        assert bool(factors[step]) == (number % 2 == 0)
        assert bool(inverses[step]) == (number % 3 == 0)
        spent = (inverses[step] or 0.0) + (curve(folder, PRECONDITION_S)[step] or 0.0)
        assert 0 < spent < (curve(folder, UPDATE_S)[step] or 0.0)
        assert (factors[step] or 0.0) < (curve(folder, COMPUTE_S)[step] or 0.0)


def test_a_step_that_overflows_changes_no_factor() -> None:
    torch.manual_seed(0)
    net, scale = nn.Linear(3, 2), LossScale(2.0**4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scale.attach(optimizer)
    kfac = KFAC(net, KFACOptions(inverse_every=Staged(5)), scale=lambda: scale.scale)
    kfac.attach(optimizer)
    x_BD, y_B = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
    for factor, steps in ((1.0, 1), (float("inf"), 1), (1.0, 2)):
        before = kfac.factors.average_F.clone()
        torch.autograd.backward(cross_entropy(net(x_BD), y_B) * scale.scale * factor)
        optimizer.step()
        optimizer.zero_grad()
        assert kfac.steps == kfac.factors.updates == steps
        assert torch.equal(kfac.factors.average_F, before) == (factor != 1.0)


def test_the_loss_scale_leaves_the_factors_as_they_are() -> None:
    averages = []
    for scale in (1.0, 2.0**10):
        torch.manual_seed(0)
        net = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        kfac = KFAC(net, KFACOptions(), scale=partial(float, scale))
        kfac.attach(optimizer)
        torch.autograd.backward(cross_entropy(net(torch.ones(4, 3)), torch.tensor([0, 1, 1, 1])) * scale)
        optimizer.step()
        averages.append(kfac.factors.average_F)
    torch.testing.assert_close(*averages)


def test_factors_that_are_not_finite_end_the_run_with_the_layer(tmp_path: Path) -> None:
    """Forces inputs whose squares exceed float32's range, while the loss is finite."""
    net = nn.Sequential(nn.Linear(3, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    kfac = KFAC(net, KFACOptions())
    kfac.attach(optimizer)
    nn.init.constant_(net[0].weight, 1e-20)
    torch.autograd.backward(cross_entropy(net(torch.full((4, 3), 1e20)), torch.tensor([0, 1, 0, 1])))
    with pytest.raises(ArithmeticError, match="the K-FAC factor of the inputs of layer 0 is not finite"):
        optimizer.step()


def test_a_net_without_a_layer_for_kfac_fails_with_the_reason(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", **SMALL | {"preconditioner": EVERY | {"largest_factor": 1}})
    assert 1 in attempt(folder, 1)
    failed = events(folder)[-1]
    assert isinstance(failed, Failed)
    assert "K-FAC finds no linear layer" in failed.reason
