"""K-FAC on nets with a loss for each token: the number of losses, and a head with the embedding's weights."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.kfac_nets import train
from tests.trainers.test_language_model import spec, trained
from trainers.build.tasks import loss_terms
from trainers.collectives.runners import native
from trainers.models.gpt import GPT
from trainers.preconditioners.kfac import KFAC
from trainers.preconditioners.options import KFACOptions, Staged

SAMPLES, CONTEXT, WIDTH, TOKENS, DAMPING = 3, 4, 8, 11, 0.02
OPTIONS = KFACOptions(damping=Staged(DAMPING), kl_clip=None)


def test_tokens_of_a_sample_count_as_so_many_samples_with_one_token() -> None:
    x_BTD = torch.randn(SAMPLES, CONTEXT, WIDTH, dtype=torch.float64)
    y_N = torch.randint(TOKENS, (SAMPLES * CONTEXT,))
    averages = []
    for x, terms in ((x_BTD, CONTEXT), (x_BTD.flatten(0, 1), 1)):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(WIDTH, TOKENS)).double()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        kfac = KFAC(net, OPTIONS, terms=terms)
        kfac.attach(optimizer)
        torch.autograd.backward(cross_entropy(net(x).flatten(0, -2), y_N))
        optimizer.step()
        averages.append(kfac.factors.average_F)
    torch.testing.assert_close(*averages, rtol=1e-12, atol=1e-14)


def test_a_shared_weight_takes_its_whole_gradient_through_the_factors_of_the_head() -> None:
    torch.manual_seed(0)
    net = GPT(TOKENS, context=CONTEXT, width=WIDTH, layers=1, heads=2).double()
    tokens_BT, next_BT = torch.randint(TOKENS, (2, SAMPLES, CONTEXT))
    seen: dict[str, Tensor] = {}

    def remember(_: nn.Module, inputs: tuple[Any, ...], logits: Tensor) -> None:
        seen["inputs"] = inputs[0].detach()
        logits.register_hook(lambda grad: seen.update(grads=grad))

    net.head.register_forward_hook(remember)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    kfac = KFAC(net, OPTIONS, terms=CONTEXT)
    kfac.attach(optimizer)
    assert {"head", "embedding.positions"} <= {layer.name for layer in kfac.layers}
    assert "embedding.tokens" not in {layer.name for layer in kfac.layers}
    weight = net.head.get_parameter("weight")
    before_VD = weight.detach().clone()
    torch.autograd.backward(cross_entropy(net(tokens_BT).flatten(0, 1), next_BT.flatten()))
    assert weight.grad is not None
    grad_VD = weight.grad.clone()  # of both uses
    optimizer.step()
    h_ND, g_NV = seen["inputs"].flatten(0, 1), seen["grads"].flatten(0, 1) * len(next_BT.flatten())
    fisher = torch.kron(g_NV.T @ g_NV, h_ND.T @ h_ND) / len(h_ND) ** 2
    expected = torch.linalg.solve(fisher + DAMPING * torch.eye(len(fisher), dtype=torch.float64), grad_VD.flatten())
    torch.testing.assert_close(before_VD - weight.detach(), expected.view_as(grad_VD), rtol=1e-9, atol=1e-12)


class LastToken(nn.Module):
    """The logits of the last position."""

    def forward(self, logits_BTV: Tensor) -> Tensor:
        return logits_BTV[:, -1]


def train_gpt(fraction: float, passes: int) -> list[Tensor]:
    torch.manual_seed(0)
    net = nn.Sequential(GPT(TOKENS, context=CONTEXT, width=WIDTH, layers=1, heads=2), LastToken()).double()
    generator = torch.Generator().manual_seed(1)
    data = [
        (
            torch.randint(TOKENS, (8, CONTEXT), generator=generator),
            torch.randint(TOKENS, (8,), generator=generator),
        )
        for _ in range(5)
    ]
    chosen = KFACOptions(inverse_every=Staged(2), damping=Staged(DAMPING), fraction=fraction)
    train(net, data, chosen, allreduce=native.allreduce if dist.get_world_size() > 1 else None, passes=passes)
    return [p.detach() for p in net.parameters()]


@pytest.mark.ring("all")
def test_a_gpt_on_two_ranks_and_in_two_passes_equals_one_rank() -> None:
    (alone,) = on_ranks(1, train_gpt, 1.0, 1)
    for ranks, fraction, passes in ((1, 1.0, 2), (2, 1.0, 1), (2, 0.0, 2)):
        for weights in on_ranks(ranks, train_gpt, fraction, passes):
            for p, expected in zip(weights, alone, strict=True):
                torch.testing.assert_close(p, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.ring("all")
def test_a_gpt_learns_with_kfac_and_two_ranks_have_the_losses_of_one(tmp_path: Path) -> None:
    kfac = {"kind": "kfac", "factor_every": 1, "inverse_every": 4, "damping": 0.03, "variant": "layer_wise"}
    sgd = {"optimizer": {"kind": "sgd", "momentum": 0.9}, "schedule": {"kind": "constant", "rate": 0.05}}
    reported = {}
    for ranks in (1, 2):
        run = spec(**sgd, preconditioner=kfac, resources={"kind": "local", "ranks_per_node": ranks})
        (tmp_path / str(ranks)).mkdir()
        reported[ranks] = on_ranks(ranks, trained, str(tmp_path / str(ranks)), run.model_dump_json())[0]
    one, two = ([values["loss"] for _, values in reported[ranks] if "loss" in values] for ranks in (1, 2))
    assert two == pytest.approx(one, rel=1e-2)  # later steps enlarge the rounding of float32
    assert one[-1] < one[0] - 1
    assert two[-1] < two[0] - 1


def test_the_losses_of_a_sample_are_those_of_the_runs_data() -> None:
    digits = {"data": {"kind": "digits"}, "model": {"kind": "convnet"}}
    bodies = {"data": {"kind": "bodies", "edge": 12}, "model": {"kind": "unet3d"}}
    text = {"data": {"kind": "text", "context": 16}, "model": {"kind": "gpt"}}
    own = {"loss": {"kind": "import", "function": "losses:own"}}
    cases: list[tuple[dict[str, Any], int]] = [(digits, 1), (bodies, 12**3), (text, 16), (text | own, 1)]
    for choices, terms in cases:
        assert loss_terms(spec(**choices)) == terms
