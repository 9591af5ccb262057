"""K-FAC on one rank equals plain numpy in float64."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.testing.trainers.kfac_nets import RATE, batches, make_net, train
from tests.testing.trainers.kfac_oracle import IMAGES, VOLUMES, Geometry, Oracle
from trainers.preconditioners.options import KFACOptions, Staged

STEPS, BATCH = 7, 12
CASES: dict[str, dict[str, Any]] = {
    "every step": {},
    "without a clip": {"kl_clip": None},
    "decoupled": {"factor_every": 2, "inverse_every": 4},
    "inverse": {"method": "inverse", "factor_every": 1, "inverse_every": 3},
}


def oracle_of(net: nn.Module, **choices: Any) -> Oracle:
    weights: list[Any] = [p.detach().double().numpy().copy() for p in net.parameters()]
    return Oracle(*weights, **{"rate": RATE, "damping": 0.02, "decay": 0.7, "kl_clip": 0.01, **choices})


def options_of(**choices: Any) -> KFACOptions:
    intervals = {name: Staged(choices.pop(name, 1)) for name in ("factor_every", "inverse_every")}
    return KFACOptions(damping=Staged(0.02), decay=0.7, **{"kl_clip": 0.01, **intervals, **choices})


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("of", [IMAGES, VOLUMES], ids=["images", "volumes"])
def test_one_rank_equals_numpy(case: str, dtype: torch.dtype, limit: float, of: Geometry) -> None:
    net = make_net(dtype, of)
    oracle = oracle_of(net, geometry=of, **CASES[case])
    data = batches(STEPS, BATCH, dtype, of)
    train(net, data, options_of(**CASES[case]))
    for x_BCHW, y_B in data:
        oracle.step(x_BCHW.double().numpy(), y_B.numpy())
    for p, expected in zip(net.parameters(), oracle.weights(), strict=True):
        moved = np.linalg.norm(p.detach().double().numpy() - expected)
        assert moved <= limit * np.linalg.norm(expected)


def test_passes_of_micro_batches_add_up_to_the_same_step() -> None:
    nets = [make_net(), make_net()]
    data = batches(3, BATCH)
    for net, passes in zip(nets, (1, 3), strict=True):
        train(net, data, options_of(), passes=passes)
    for one, three in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        torch.testing.assert_close(one, three, rtol=1e-10, atol=1e-12)


def test_a_stage_changes_the_intervals_and_the_damping() -> None:
    every = Staged(2, [(5, 4)])
    assert [step for step in range(14) if every.is_due(step)] == [0, 2, 4, 5, 9, 13]
    assert [Staged(0.1, [(2, 0.3)]).at(step) for step in range(4)] == [0.1, 0.1, 0.3, 0.3]


def test_an_evaluation_adds_no_statistics() -> None:
    net = make_net()
    kfac = train(net, batches(1, BATCH), options_of())
    (x_BCHW, _), *_ = batches(1, BATCH)
    with torch.no_grad():
        net(x_BCHW)
    assert kfac.capture.input_factors() == [None, None, None]


def test_a_layer_that_is_always_in_evaluation_mode_is_preconditioned_as_any_other() -> None:
    nets = [make_net(), make_net()]
    nets[1][3].eval()
    for net in nets:
        train(net, batches(2, BATCH), options_of())
    for plain, frozen in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        assert torch.equal(plain, frozen)
