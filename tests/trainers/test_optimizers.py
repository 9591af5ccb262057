"""Properties of all optimizers: exemptions, clipping, averages, and resuming from a saved state."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.oracles import flat, trained
from trainers.build.optimizers import build_optimizer, note_on_skip
from trainers.checkpoints.checkpoint_writer import copy_state
from trainers.models.convnet import ConvNet
from trainers.optimizers.clip import clip
from trainers.optimizers.exempt import Exempt, adapting_groups, decaying_groups
from trainers.optimizers.fused import make_sgd
from trainers.optimizers.rate_inside import RateInsideSGD
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import local_rank_info
from trainers.training.engine import make_loop

CHOICES: list[dict[str, Any]] = [
    {"kind": "sgd", "weight_decay": 0.1, "no_weight_decay": "bias_and_norm"},
    {"kind": "sgd", "weight_decay": 0.1, "nesterov": True},
    {"kind": "sgd", "weight_decay": 0.1, "form": "rate_inside", "no_weight_decay": "bias_and_norm"},
    {"kind": "lars", "skip": "bias_and_norm"},
    {"kind": "lars", "form": "larc_clip"},
    {"kind": "lamb"},
    {"kind": "adam", "weight_decay": 0.1, "no_weight_decay": "bias_and_norm"},
    {"kind": "adamw"},
]


def run_with(choice: dict[str, Any], **fields: Any) -> RunSpec:
    schedule = {"kind": "constant", "rate": 1.0}
    return RunSpec.model_validate({"optimizer": choice, "schedule": schedule, "batch": 64, "epochs": 1, **fields})


def sgd_oracle(w: list[float], grads: list[list[float]], rates: list[float], *, nesterov: bool) -> list[float]:
    """Compute torch's SGD for one layer: momentum 0.9, weight decay 0.01, rates outside the velocity."""
    v = [0.0] * len(w)
    for g, g_t in zip(grads, rates, strict=True):
        d = [g_i + 0.01 * w_i for g_i, w_i in zip(g, w, strict=True)]
        v = [0.9 * v_i + d_i for v_i, d_i in zip(v, d, strict=True)]
        along = [d_i + 0.9 * v_i for d_i, v_i in zip(d, v, strict=True)] if nesterov else v
        w = [w_i - g_t * a_i for w_i, a_i in zip(w, along, strict=True)]
    return w


@pytest.mark.parametrize("layout", ["alike", "mixed"])
@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_matches_its_equations(nesterov: bool, layout: str) -> None:
    """Forces, as mixed, gradients that lie in memory otherwise than their weights: the fused kernel misreads them."""
    rates = [0.1, 0.2, 0.05, 0.1]

    def make(params: list[nn.Parameter]) -> torch.optim.Optimizer:
        return make_sgd([{"params": params}], momentum=0.9, weight_decay=0.01, nesterov=nesterov)

    assert make([nn.Parameter(torch.ones(2))]).defaults["fused"]
    starts, grads, ends = trained(make, rates, layout=layout)
    for start, of_layer, end in zip(starts, grads, ends, strict=True):
        wanted = sgd_oracle(flat(start), [flat(g) for g in of_layer], rates, nesterov=nesterov)
        torch.testing.assert_close(end.flatten(), torch.tensor(wanted, dtype=end.dtype))


def test_sgd_updates_16_bit_weights() -> None:
    """The fused SGD of torch 2.13 leaves most of them as they are on a CPU."""
    weight = nn.Parameter(torch.ones(1000, dtype=torch.bfloat16))
    optimizer = make_sgd([{"params": [weight]}], momentum=0.9, weight_decay=0.0, nesterov=False)
    optimizer.param_groups[0]["lr"] = 0.5
    weight.grad = torch.ones_like(weight)
    optimizer.step()
    assert weight.tolist() == [0.5] * 1000


@pytest.mark.parametrize("nesterov", [False, True])
def test_a_weight_whose_first_gradient_comes_later_starts_with_its_own_velocity(nesterov: bool) -> None:
    """The fused SGD of torch 2.13 fails where some weights have a velocity and others none."""
    starts = (0, 2, 9, 0, 1, 3)  # the step of each weight's first gradient
    ours, theirs = ([nn.Parameter(torch.ones(4)) for _ in starts] for _ in range(2))
    groups, others = ([{"params": params[:3]}, {"params": params[3:]}] for params in (ours, theirs))
    fused = make_sgd(groups, momentum=0.9, weight_decay=0.01, nesterov=nesterov)
    plain = torch.optim.SGD(others, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=nesterov, foreach=False)
    assert fused.defaults["fused"]

    def take_step(step: int) -> None:
        for params, optimizer in ((ours, fused), (theirs, plain)):
            for group in optimizer.param_groups:
                group["lr"] = 0.1
            for number, (p, start) in enumerate(zip(params, starts, strict=True)):
                p.grad = torch.full_like(p, number + 1.0) if step >= start else None
            optimizer.step()

    take_step(0)
    early = [copy_state(optimizer.state_dict()) for optimizer in (fused, plain)]
    for step in range(1, 11):  # at the end all weights have a velocity
        take_step(step)
    for optimizer, state in zip((fused, plain), early, strict=True):
        optimizer.load_state_dict(state)
    take_step(10)
    for p, q in zip(ours, theirs, strict=True):
        torch.testing.assert_close(p, q)


def caffe_oracle(w: list[float], grads: list[list[float]], rates: list[float]) -> list[float]:
    """Compute Caffe's SGD for one layer: momentum 0.9, weight decay 0.01, rates inside the velocity."""
    v = [0.0] * len(w)
    for g, g_t in zip(grads, rates, strict=True):
        v = [0.9 * v_i + g_t * (g_i + 0.01 * w_i) for v_i, g_i, w_i in zip(v, g, w, strict=True)]
        w = [w_i - v_i for w_i, v_i in zip(w, v, strict=True)]
    return w


def test_the_rate_inside_the_velocity_matches_caffe_s_equations() -> None:
    rates = [0.1, 0.2, 0.05, 0.1]
    starts, grads, ends = trained(lambda params: RateInsideSGD(params, lr=0.0, weight_decay=0.01), rates)
    for start, of_layer, end in zip(starts, grads, ends, strict=True):
        wanted = caffe_oracle(flat(start), [flat(g) for g in of_layer], rates)
        torch.testing.assert_close(end.flatten(), torch.tensor(wanted, dtype=end.dtype))


def distance_after(form: str, rates: list[float]) -> float:
    """Return how far a bias without weight decay has moved along a gradient of 1."""
    net = nn.Linear(1, 1)
    optimizer = build_optimizer(
        run_with({"kind": "sgd", "weight_decay": 0.5, "no_weight_decay": "bias_and_norm", "form": form}), net
    )
    before = net.bias.item()
    for rate in rates:
        for group in optimizer.param_groups:
            group["lr"] = rate
        net.bias.grad = torch.ones(1)
        optimizer.step()
    return before - net.bias.item()


def test_the_forms_differ_only_while_the_rate_changes() -> None:
    constant, falls = [0.1] * 4, [0.1, 0.1, 0.01, 0.01]
    assert distance_after("rate_inside", constant) == pytest.approx(distance_after("rate_outside", constant), rel=1e-5)
    # outside: 0.1 (1 + 1.9) + 0.01 (2.71 + 3.439); inside: 0.1 + 0.19 + 0.181 + 0.1729
    assert distance_after("rate_outside", falls) == pytest.approx(0.35149, rel=1e-5)
    assert distance_after("rate_inside", falls) == pytest.approx(0.6439, rel=1e-5)


def test_a_form_that_the_rule_or_nesterov_cannot_have_is_refused() -> None:
    for field, message in (({"nesterov": True}, "Nesterov momentum is defined"), ({}, "the center of async_sgd has")):
        form, rule = ("rate_inside", "sync") if field else ("rate_outside", "async_sgd")
        with pytest.raises(ValidationError, match=message):
            run_with({"kind": "sgd", "form": form, **field}, rule={"kind": rule})


@pytest.mark.parametrize(("exempt", "layers"), [("none", 0), ("bias_and_norm", 7), ("one_dimensional", 7)])
def test_exempt_parameters_of_the_small_net(exempt: Exempt, layers: int) -> None:
    """The net has three normalizations with a weight and a bias each, and the classifier's bias."""
    model = ConvNet(1, 10)
    for groups, sign in ((adapting_groups(model, exempt), "adapt"), (decaying_groups(model, exempt), "weight_decay")):
        assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
        assert sum(len(group["params"]) for group in groups if group.get(sign, True) in (False, 0.0)) == layers


def test_the_policies_differ_for_a_one_dimensional_weight() -> None:
    model = nn.Module()
    model.scale = nn.Parameter(torch.ones(3))
    assert [group["adapt"] for group in adapting_groups(model, "bias_and_norm")] == [True]
    assert [group["adapt"] for group in adapting_groups(model, "one_dimensional")] == [False]


@pytest.mark.parametrize("norm", [nn.BatchNorm2d(4), nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.RMSNorm([2, 2])], ids=repr)
def test_every_kind_of_normalization_is_exempt(norm: nn.Module) -> None:
    (group,) = adapting_groups(nn.Sequential(norm), "bias_and_norm")
    assert group["adapt"] is False


def test_the_biases_of_a_recurrent_layer_are_exempt() -> None:
    groups = decaying_groups(nn.LSTM(3, 4, num_layers=2), "bias_and_norm")
    assert [len(group["params"]) for group in groups] == [4, 4]


def test_tied_weights_are_updated_once() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    groups = adapting_groups(nn.Sequential(first, second), "bias_and_norm")
    assert [len(group["params"]) for group in groups] == [1, 2]


@pytest.mark.parametrize(
    ("net", "skip", "note"),
    [
        (
            nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)),
            None,
            "LARS adapts the rate of 2 parameters",
        ),
        (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), "bias_and_norm", None),
        (nn.Linear(2, 2), None, None),
        (nn.Linear(2, 2), "one_dimensional", "the net has no normalization, and optimizer.skip"),
    ],
)
def test_the_log_says_what_skip_means_for_the_net(net: nn.Module, skip: str | None, note: str | None) -> None:
    found = note_on_skip(run_with({"kind": "lars", **({"skip": skip} if skip else {})}), net)
    assert (found or "").startswith(note or "")
    assert bool(found) == bool(note)
    assert note_on_skip(run_with({"kind": "sgd"}), net) is None


def printed_at_the_start(folder: str) -> str:
    """Return what rank 0 prints while it builds a run of LARS with the small net."""
    here = local_rank_info(0, 1)
    report, log = Reporter(RunFolder(Path(folder)), 1, rank=0), io.StringIO()
    with redirect_stdout(log):
        make_loop(run_with({"kind": "lars"}), here, device=torch.device("cpu"), report=report)
    return log.getvalue()


@pytest.mark.ring("all")
def test_a_run_prints_the_note(tmp_path: Path) -> None:
    [log] = on_ranks(1, printed_at_the_start, str(tmp_path))
    assert log.startswith("LARS adapts the rate of 6 parameters of normalization too; optimizer.skip bias_and_norm")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "-".join(str(value) for value in choice.values()))
def test_a_restored_optimizer_continues_with_the_same_bits(choice: dict[str, Any]) -> None:
    def advance(model: ConvNet, optimizer: torch.optim.Optimizer, seed: int) -> None:
        torch.manual_seed(seed)
        for group in optimizer.param_groups:
            group["lr"] = 0.01
        for p in model.parameters():
            p.grad = torch.randn_like(p)
        optimizer.step()

    run, model = run_with(choice), ConvNet(1, 10)
    first = build_optimizer(run, model)
    for step in range(3):
        advance(model, first, step)
    file = io.BytesIO()
    torch.save((model.state_dict(), first.state_dict()), file)
    file.seek(0)
    weights, state = torch.load(file, weights_only=True)
    other = ConvNet(1, 10)
    other.load_state_dict(weights)
    second = build_optimizer(run, other)
    second.load_state_dict(state)
    for step in range(3, 6):
        advance(model, first, step)
        advance(other, second, step)
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(p, q)


@pytest.mark.parametrize(("norm", "step"), [(13.0, (3.0, 4.0, 12.0)), (20.0, (3.0, 4.0, 12.0)), (6.5, (1.5, 2.0, 6.0))])
def test_gradients_are_clipped_by_their_norm_over_all_layers(norm: float, step: tuple[float, ...]) -> None:
    one, two = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))
    sgd = torch.optim.SGD([one, two], lr=1.0)
    handle = clip(sgd, norm)
    one.grad, two.grad = torch.tensor([3.0, 4.0]), torch.tensor([12.0])
    sgd.step()
    assert (-torch.cat([one, two])).tolist() == pytest.approx(step)
    handle.remove()
    two.grad = torch.tensor([100.0])
    sgd.step()
    assert two.item() == pytest.approx(-step[-1] - 100)


def test_a_run_clips_as_its_spec_sets() -> None:
    model = ConvNet(1, 10)
    before = torch.cat([p.detach().flatten() for p in model.parameters()])
    built = build_optimizer(run_with({"kind": "sgd", "momentum": 0.0}, clip_norm=0.5), model)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    built.param_groups[0]["lr"] = 1.0
    built.step()
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    assert (after - before).norm().item() == pytest.approx(0.5, rel=1e-4)
