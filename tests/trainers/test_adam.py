"""Adam and AdamW compared with a reference and with torch's unfused loop, in any memory order."""

import pytest
import torch
from torch import nn

from tests.testing.trainers.oracles import flat, trained
from trainers.optimizers.adam import make_adam

BETAS = (0.8, 0.95)


def oracle(w: list[float], grads: list[list[float]], rates: list[float], *, decoupled: bool) -> list[float]:
    """Compute Adam or AdamW for one layer; betas 0.8 and 0.95, weight decay 0.02, epsilon 1e-3."""
    m, v = [0.0] * len(w), [0.0] * len(w)
    for t, (g, g_t) in enumerate(zip(grads, rates, strict=True), start=1):
        if not decoupled:
            g = [g_i + 0.02 * w_i for g_i, w_i in zip(g, w, strict=True)]
        m = [0.8 * m_i + 0.2 * g_i for m_i, g_i in zip(m, g, strict=True)]
        v = [0.95 * v_i + 0.05 * g_i**2 for v_i, g_i in zip(v, g, strict=True)]
        u = [m_i / (1 - 0.8**t) / ((v_i / (1 - 0.95**t)) ** 0.5 + 1e-3) for m_i, v_i in zip(m, v, strict=True)]
        kept = 1 - g_t * 0.02 if decoupled else 1.0
        w = [kept * w_i - g_t * u_i for w_i, u_i in zip(w, u, strict=True)]
    return w


@pytest.mark.parametrize("layout", ["alike", "mixed"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("decoupled", [False, True])
def test_twenty_steps_equal_the_papers_algorithms(layout: str, dtype: torch.dtype, decoupled: bool) -> None:
    """Forces gradients that lie in memory otherwise than their weights, which the fused kernel would misread."""
    rates = [0.1 * (1 - t / 20) for t in range(20)]
    starts, grads, ends = trained(
        lambda params: make_adam(params, decoupled=decoupled, betas=BETAS, epsilon=1e-3, weight_decay=0.02),
        rates,
        layout=layout,
        dtype=dtype,
    )
    for start, of_layer, end in zip(starts, grads, ends, strict=True):
        wanted = oracle(flat(start), [flat(g) for g in of_layer], rates, decoupled=decoupled)
        torch.testing.assert_close(end.flatten(), torch.tensor(wanted, dtype=dtype))


def test_a_step_without_gradients_changes_nothing() -> None:
    """Forces a step that a loss scale skips: no parameter has a gradient."""
    weight = nn.Parameter(torch.ones(3))
    optimizer = make_adam([weight], decoupled=True, betas=BETAS, epsilon=1e-8, weight_decay=0.1)
    optimizer.param_groups[0]["lr"] = 0.1
    optimizer.step()
    assert weight.tolist() == [1.0, 1.0, 1.0]
