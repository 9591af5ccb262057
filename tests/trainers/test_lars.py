"""LARS against its ten-line oracle, hand numbers, and what the algorithm promises."""

import copy
import math

import pytest
import torch
from torch import Tensor, nn

from trainers.models.convnet import ConvNet
from trainers.optimizers.lars import LARS
from trainers.optimizers.skip import Skip, param_groups


def oracle(w: Tensor, grads: list[Tensor], rates: list[float], *, eta: float, m: float, b: float) -> Tensor:
    """Algorithm 1 of the paper, line by line, for one layer."""
    w, v = w.clone(), torch.zeros_like(w)
    for g, g_t in zip(grads, rates, strict=True):
        norms = w.norm(), g.norm()
        lam = eta * norms[0] / (norms[1] + b * norms[0]) if all(norms) else 1.0
        v = m * v + g_t * lam * (g + b * w)
        w = w - v
    return w


def test_twenty_steps_equal_the_paper_s_algorithm() -> None:
    torch.manual_seed(0)
    starts = [torch.randn(8, 3, 3, 3), torch.randn(10, 7), torch.randn(5)]
    params = [nn.Parameter(start.clone()) for start in starts]
    optimizer = LARS(params, lr=0.0, momentum=0.9, weight_decay=0.01, trust_coefficient=0.02)
    rates = [2.0 * (1 - t / 20) ** 2 for t in range(20)]
    grads = [[torch.randn_like(start) for _ in rates] for start in starts]
    for t, rate in enumerate(rates):
        optimizer.param_groups[0]["lr"] = rate
        for p, of_p in zip(params, grads, strict=True):
            p.grad = of_p[t].clone()
        optimizer.step()
    for p, start, of_p in zip(params, starts, grads, strict=True):
        torch.testing.assert_close(p.data, oracle(start, of_p, rates, eta=0.02, m=0.9, b=0.01))


def one_layer(w: list[float], g: list[float], **options: float) -> tuple[nn.Parameter, LARS]:
    p = nn.Parameter(torch.tensor(w, dtype=torch.float32))
    p.grad = torch.tensor(g, dtype=torch.float32)
    return p, LARS([p], **options)


def test_two_steps_by_hand() -> None:
    # ||w|| = 5, ||g|| = 2, so lam = 0.1 x 5 / (2 + 0.2 x 5) = 1/6; g + b w = (0.6, 2.8); v = 3/6 x (0.6, 2.8)
    p, optimizer = one_layer([3, 4], [0, 2], lr=3, momentum=0.5, weight_decay=0.2, trust_coefficient=0.1)
    optimizer.step()
    assert p.tolist() == pytest.approx([3 - 0.3, 4 - 1.4])
    # the rate falls to 0: the velocity keeps the rate of its own time
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.step()
    assert p.tolist() == pytest.approx([3 - 0.3 - 0.15, 4 - 1.4 - 0.7])


def test_where_the_weights_are_zero_the_ratio_is_one() -> None:
    p, optimizer = one_layer([0, 0], [1, 2], lr=0.5, weight_decay=0.1)
    optimizer.step()
    assert p.tolist() == pytest.approx([-0.5, -1.0])


def test_where_the_gradient_is_zero_the_ratio_is_one() -> None:
    p, optimizer = one_layer([2, 0], [0, 0], lr=0.5, weight_decay=0.1)
    optimizer.step()
    assert p.tolist() == pytest.approx([2 - 0.5 * 0.1 * 2, 0])


def test_a_skipped_layer_takes_plain_momentum_without_decay() -> None:
    p = nn.Parameter(torch.tensor([3.0, 4.0]))
    optimizer = LARS([{"params": [p], "adapt": False}], lr=0.5, momentum=0.5, weight_decay=0.1)
    for _ in range(2):
        p.grad = torch.tensor([1.0, 2.0])
        optimizer.step()
    # v = 0.5 g, then 0.75 g
    assert p.tolist() == pytest.approx([3 - 1.25, 4 - 2.5])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_without_decay_the_step_does_not_depend_on_the_loss_s_scale(scale: float) -> None:
    g = torch.tensor([1.0, -2.0, 3.0])
    p, optimizer = one_layer([1, 2, 3], (scale * g).tolist(), lr=2.0, trust_coefficient=0.01)
    optimizer.step()
    # a step's length is g_t eta ||w||
    torch.testing.assert_close(p.data, torch.tensor([1.0, 2, 3]) - 2 * 0.01 * math.sqrt(14) * g / g.norm())


def test_norms_of_half_precision_layers_do_not_overflow() -> None:
    p = nn.Parameter(torch.full((10_000,), 300.0, dtype=torch.float16))
    p.grad = torch.full_like(p, 2.0)
    optimizer = LARS([p], lr=1.0, trust_coefficient=0.01)
    optimizer.step()
    # lam = 0.01 x 30000 / 200 = 1.5
    assert p[0].item() == pytest.approx(297, rel=1e-3)


@pytest.mark.parametrize(("skip", "skipped"), [("none", 0), ("bias_and_norm", 7), ("one_dimensional", 7)])
def test_the_skip_policies_on_the_small_net(skip: Skip, skipped: int) -> None:
    """Three normalizations of a weight and a bias each, and the classifier's bias."""
    model = ConvNet(1, 10)
    groups = param_groups(model, skip)
    assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
    assert sum(len(group["params"]) for group in groups if not group["adapt"]) == skipped


def test_policies_differ_where_a_weight_has_one_dimension() -> None:
    model = nn.Module()
    model.scale = nn.Parameter(torch.ones(3))
    assert [group["adapt"] for group in param_groups(model, "bias_and_norm")] == [True]
    assert [group["adapt"] for group in param_groups(model, "one_dimensional")] == [False]


def test_tied_weights_are_moved_once() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    groups = param_groups(nn.Sequential(first, second), "bias_and_norm")
    assert [len(group["params"]) for group in groups] == [1, 2]


@pytest.mark.parametrize("wrong", [{"lr": -1}, {"momentum": -0.1}, {"weight_decay": -1}, {"trust_coefficient": 0}])
def test_senseless_numbers_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LARS([nn.Parameter(torch.ones(1))], **{"lr": 1.0, **wrong})


def test_the_state_survives_a_save() -> None:
    def step(p: nn.Parameter, optimizer: LARS) -> None:
        p.grad = torch.tensor([1.0, 2.0])
        optimizer.step()

    p, optimizer = one_layer([3, 4], [0, 0], lr=1.0)
    step(p, optimizer)
    q = nn.Parameter(p.detach().clone())
    restored = LARS([q], lr=0.0)
    restored.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    step(p, optimizer)
    step(q, restored)
    assert torch.equal(p, q)
