"""LARS compared with a ten-line reference, with manual results, and with properties of the algorithm."""

import math

import pytest
import torch
from torch import nn

from tests.testing.trainers.oracles import flat, norm, trained
from trainers.optimizers import layers
from trainers.optimizers.lars import LARS, Form


def oracle(w: list[float], grads: list[list[float]], rates: list[float], form: Form) -> list[float]:
    """Compute Algorithm 1 of the paper for one layer in double precision; eta 0.02, m 0.9, b 0.01."""
    v = [0.0] * len(w)
    for g, g_t in zip(grads, rates, strict=True):
        below = norm(g) + (0.01 * norm(w) if form == "lars" else 0.0)
        lam = 0.02 * norm(w) / below if norm(w) and norm(g) else 1.0
        rate = min(g_t, lam) if form == "larc_clip" else g_t * lam
        v = [0.9 * v_i + rate * (g_i + 0.01 * w_i) for v_i, g_i, w_i in zip(v, g, w, strict=True)]
        w = [w_i - v_i for w_i, v_i in zip(w, v, strict=True)]
    return w


@pytest.mark.parametrize("form", ["lars", "larc_scale", "larc_clip"])
@pytest.mark.parametrize("layout", ["alike", "mixed"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_twenty_steps_equal_the_paper_s_algorithm(form: Form, layout: str, dtype: torch.dtype) -> None:
    """Gradients with another memory layout than their weights ("mixed") use the path of accelerators."""
    rates = [2.0 * (1 - t / 20) ** 2 for t in range(20)]
    starts, grads, ends = trained(
        lambda params: LARS(params, lr=0.0, weight_decay=0.01, trust_coefficient=0.02, form=form),
        rates,
        layout=layout,
        dtype=dtype,
    )
    for start, of_layer, end in zip(starts, grads, ends, strict=True):
        wanted = oracle(flat(start), [flat(g) for g in of_layer], rates, form)
        torch.testing.assert_close(end.flatten(), torch.tensor(wanted, dtype=dtype))


def test_layers_are_grouped_by_device_and_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "CACHE_NUMBERS", 10)
    params = [nn.Parameter(torch.zeros(n)) for n in (4, 6, 1, 20, 3)]
    params.append(nn.Parameter(torch.zeros(1, dtype=torch.float64)))
    params.insert(2, nn.Parameter(torch.zeros(2)))
    for p in params:
        p.grad = torch.zeros_like(p)
    params[2].grad = None
    assert [[len(p) for p in batch] for batch in layers.group_layers(params)] == [[4, 6], [1], [20], [3], [1]]


def test_a_sparse_gradient_is_refused() -> None:
    p = nn.Parameter(torch.zeros(3))
    p.grad = torch.ones(3).to_sparse()
    with pytest.raises(ValueError, match="sparse"):
        LARS([p], lr=1.0).step()


def one_layer(w: list[float], g: list[float], **options: float) -> tuple[nn.Parameter, LARS]:
    p = nn.Parameter(torch.tensor(w, dtype=torch.float32))
    p.grad = torch.tensor(g, dtype=torch.float32)
    return p, LARS([p], **options)


def test_two_steps_by_hand() -> None:
    # ||w|| = 5, ||g|| = 2, so lam = 0.1 x 5 / (2 + 0.2 x 5) = 1/6; g + b w = (0.6, 2.8); v = 3/6 x (0.6, 2.8)
    p, optimizer = one_layer([3, 4], [0, 2], lr=3, momentum=0.5, weight_decay=0.2, trust_coefficient=0.1)
    optimizer.step()
    assert p.tolist() == pytest.approx([3 - 0.3, 4 - 1.4])
    # the rate decreases to 0, but the velocity contains the earlier rate
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.step()
    assert p.tolist() == pytest.approx([3 - 0.3 - 0.15, 4 - 1.4 - 0.7])


def test_the_ratio_of_zero_weights_is_one() -> None:
    p, optimizer = one_layer([0, 0], [1, 2], lr=0.5, weight_decay=0.1)
    optimizer.step()
    assert p.tolist() == pytest.approx([-0.5, -1.0])


def test_the_ratio_of_a_zero_gradient_is_one() -> None:
    p, optimizer = one_layer([2, 0], [0, 0], lr=0.5, weight_decay=0.1)
    optimizer.step()
    assert p.tolist() == pytest.approx([2 - 0.5 * 0.1 * 2, 0])


def test_a_skipped_layer_uses_momentum_sgd_without_decay() -> None:
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
    # the norm of a step is g_t eta ||w||
    torch.testing.assert_close(p.data, torch.tensor([1.0, 2, 3]) - 2 * 0.01 * math.sqrt(14) * g / g.norm())


def test_epsilon_is_in_the_denominator() -> None:
    # ||w|| = 5, ||g|| = 2: lam = 0.1 x 5 / (2 + 3)
    p, optimizer = one_layer([3, 4], [0, 2], lr=1, trust_coefficient=0.1, epsilon=3.0)
    optimizer.step()
    assert p.tolist() == pytest.approx([3, 4 - 0.1 * 2])


def test_norms_of_half_precision_layers_do_not_overflow() -> None:
    p = nn.Parameter(torch.full((10_000,), 300.0, dtype=torch.float16))
    p.grad = torch.full_like(p, 2.0)
    optimizer = LARS([p], lr=1.0, trust_coefficient=0.01)
    optimizer.step()
    # lam = 0.01 x 30000 / 200 = 1.5
    assert p[0].item() == pytest.approx(297, rel=1e-3)


@pytest.mark.parametrize(
    "wrong", [{"lr": -1}, {"momentum": -0.1}, {"weight_decay": -1}, {"trust_coefficient": 0}, {"epsilon": -1}]
)
def test_invalid_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LARS([nn.Parameter(torch.ones(1))], **{"lr": 1.0, **wrong})
