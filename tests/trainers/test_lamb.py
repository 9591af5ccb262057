"""LAMB compared with a reference and with properties of the algorithm."""

import pytest
import torch
from torch import nn

from tests.testing.trainers.oracles import flat, norm, trained
from trainers.optimizers.lamb import LAMB


def oracle(w: list[float], grads: list[list[float]], rates: list[float]) -> list[float]:
    """Compute Algorithm 2 of the paper for one layer; betas 0.8 and 0.95, weight decay 0.02, epsilon 1e-3."""
    m, v = [0.0] * len(w), [0.0] * len(w)
    for t, (g, g_t) in enumerate(zip(grads, rates, strict=True), start=1):
        m = [0.8 * m_i + 0.2 * g_i for m_i, g_i in zip(m, g, strict=True)]
        v = [0.95 * v_i + 0.05 * g_i**2 for v_i, g_i in zip(v, g, strict=True)]
        r = [m_i / (1 - 0.8**t) / ((v_i / (1 - 0.95**t)) ** 0.5 + 1e-3) for m_i, v_i in zip(m, v, strict=True)]
        u = [r_i + 0.02 * w_i for r_i, w_i in zip(r, w, strict=True)]
        trust = norm(w) / norm(u) if norm(w) and norm(u) else 1.0
        w = [w_i - g_t * trust * u_i for w_i, u_i in zip(w, u, strict=True)]
    return w


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("layout", ["alike", "mixed"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_twenty_steps_equal_the_paper_s_algorithm(layout: str, dtype: torch.dtype) -> None:
    rates = [0.1 * (1 - t / 20) for t in range(20)]
    starts, grads, ends = trained(
        lambda params: LAMB(params, lr=0.0, betas=(0.8, 0.95), weight_decay=0.02, epsilon=1e-3),
        rates,
        layout=layout,
        dtype=dtype,
    )
    for start, of_layer, end in zip(starts, grads, ends, strict=True):
        wanted = oracle(flat(start), [flat(g) for g in of_layer], rates)
        torch.testing.assert_close(end.flatten(), torch.tensor(wanted, dtype=dtype))


def test_a_layer_without_adaptation_uses_adam_without_decay() -> None:
    ours, adams = nn.Parameter(torch.tensor([3.0, 4.0])), nn.Parameter(torch.tensor([3.0, 4.0]))
    lamb = LAMB([{"params": [ours], "adapt": False}], lr=0.1, weight_decay=0.5)
    adam = torch.optim.Adam([adams], lr=0.1, eps=1e-6)
    for grad in (torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0])):
        ours.grad, adams.grad = grad.clone(), grad.clone()
        lamb.step()
        adam.step()
    torch.testing.assert_close(ours, adams)


def test_the_norm_of_the_first_step_is_the_rate_times_the_weights_norm() -> None:
    p = nn.Parameter(torch.tensor([3.0, 4.0, 0.0]))
    p.grad = torch.tensor([1e-3, -2.0, 5.0])
    LAMB([p], lr=0.01).step()
    assert (p.detach() - torch.tensor([3.0, 4.0, 0.0])).norm().item() == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize("wrong", [{"lr": -1}, {"weight_decay": -1}, {"epsilon": -1}, {"betas": (0.9, 1.0)}])
def test_invalid_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LAMB([nn.Parameter(torch.ones(1))], **{"lr": 1.0, **wrong})  # type: ignore[arg-type]
