"""What `bias_and_norm` exempts goes by module and shape, whatever the names are."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, weight_norm

from tests.trainers.test_optimizers import run_with
from trainers.build.optimizers import note_on_skip
from trainers.models.group_batch_norm import join
from trainers.optimizers.exempt import Exempt, adapting_groups, decaying_groups


class MatrixAndVector(nn.Module):
    """A layer written by hand, whose names say nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel, self.offset = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(2))


class LayerScale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(3))


class OnlyBias(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.ones(3))


class MyLayerNorm2d(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))


class NormalizedProduct(nn.Module):
    """A layer with a matrix, whose class has `norm` in its name."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix, self.gain = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(1))


class Twice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return twice the parameter."""
        return 2 * x


def parametrized(module: nn.Module, name: str) -> nn.Module:
    parametrize.register_parametrization(module, name, Twice())
    return module


def tied() -> nn.Module:
    """Return a norm, and a layer of which the vector is the norm's."""
    norm, layer = nn.LayerNorm(2), LayerScale()
    layer.gamma = norm.weight
    return nn.Sequential(norm, layer)


def joined() -> nn.Module:
    net = nn.Sequential(nn.BatchNorm1d(2))
    join(net, lambda x: x[None])
    return net


RECURRENT = "bias_ih_l0 bias_hh_l0 bias_ih_l0_reverse bias_hh_l0_reverse"
TABLE: list[tuple[Callable[[], nn.Module], str]] = [
    (lambda: nn.Linear(3, 2), "bias"),
    (lambda: nn.Linear(3, 1, bias=False), ""),
    (lambda: nn.Bilinear(3, 2, 2), "bias"),
    *((lambda kind=kind: kind(4, 2, 3), "bias") for kind in (nn.Conv1d, nn.Conv2d, nn.Conv3d)),
    *(
        (lambda kind=kind: kind(4, 2, 3), "bias")
        for kind in (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    ),
    *((lambda kind=kind: kind(3, 2, bidirectional=True), RECURRENT) for kind in (nn.RNN, nn.LSTM, nn.GRU)),
    (lambda: nn.LSTM(3, 4, proj_size=2), "bias_ih_l0 bias_hh_l0"),
    *((lambda kind=kind: kind(3, 2), "bias_ih bias_hh") for kind in (nn.RNNCell, nn.LSTMCell, nn.GRUCell)),
    (lambda: nn.MultiheadAttention(4, 2), "in_proj_bias out_proj.bias"),
    (
        lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True),
        "in_proj_bias bias_k bias_v out_proj.bias",
    ),
    (
        lambda: nn.TransformerEncoderLayer(4, 2, 8),
        "self_attn.in_proj_bias self_attn.out_proj.bias linear1.bias linear2.bias norm1.weight norm1.bias norm2.weight "
        "norm2.bias",
    ),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2], head_bias=True), "head.bias"),
    (lambda: nn.Embedding(3, 2), ""),
    (lambda: nn.PReLU(3), ""),
    (lambda: nn.BatchNorm2d(3), "weight bias"),
    (joined, "0.weight 0.bias"),
    (lambda: nn.SyncBatchNorm(3), "weight bias"),
    (lambda: nn.InstanceNorm2d(3, affine=True), "weight bias"),
    (lambda: nn.LayerNorm([2, 3]), "weight bias"),
    (lambda: nn.GroupNorm(1, 3), "weight bias"),
    (lambda: nn.RMSNorm([2, 3]), "weight"),
    (MatrixAndVector, "offset"),
    (LayerScale, ""),
    (OnlyBias, "bias"),
    (MyLayerNorm2d, "gamma beta"),
    (NormalizedProduct, "gain"),
    (lambda: parametrized(nn.Linear(3, 2), "bias"), "parametrizations.bias.original"),
    (lambda: parametrized(MatrixAndVector(), "offset"), "parametrizations.offset.original"),
    (lambda: parametrized(MatrixAndVector(), "kernel"), "offset"),
    (lambda: parametrized(nn.LayerNorm(3), "weight"), "bias parametrizations.weight.original"),
    (lambda: parametrizations.weight_norm(nn.Linear(3, 2)), "bias"),
    (lambda: parametrizations.weight_norm(nn.Linear(3, 2), dim=None), "bias"),
    (lambda: parametrizations.spectral_norm(nn.Conv2d(3, 2, 1)), "bias"),
    (lambda: weight_norm(nn.Linear(3, 2)), "bias"),
    (tied, "0.weight 0.bias"),
]


def exempt_names(net: nn.Module, exempt: Exempt) -> list[str]:
    chosen = [p for group in decaying_groups(net, exempt) if "weight_decay" in group for p in group["params"]]
    names = {p: name for name, p in net.named_parameters()}
    return [names[p] for p in chosen]


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize(("make", "names"), TABLE, ids=[str(number) for number in range(len(TABLE))])
def test_biases_and_normalizations_are_exempt_whatever_their_names(make: Callable[[], nn.Module], names: str) -> None:
    net = make()
    assert sorted(exempt_names(net, "bias_and_norm")) == sorted(names.split())
    assert exempt_names(net, "none") == []
    assert exempt_names(net, "one_dimensional") == [name for name, p in net.named_parameters() if p.ndim <= 1]
    adapting = adapting_groups(net, "bias_and_norm")
    assert sum(len(group["params"]) for group in adapting) == len(list(net.parameters()))
    assert sum(len(group["params"]) for group in adapting if not group["adapt"]) == len(names.split())


@pytest.mark.parametrize("exempt", ["none", "bias_and_norm", "one_dimensional"])
def test_a_group_has_its_parameters_in_the_order_of_the_net(exempt: Exempt) -> None:
    """A checkpoint numbers the states of an optimizer in this order."""
    net = nn.Sequential(parametrized(nn.MultiheadAttention(4, 2), "in_proj_bias"), nn.Linear(4, 2), tied())
    order = list(net.parameters())
    for group in decaying_groups(net, exempt):
        places = [next(i for i, q in enumerate(order) if q is p) for p in group["params"]]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("net", "skip", "note"),
    [
        (MyLayerNorm2d(), "none", "LARS adapts the rate of 2 parameters of normalization too"),
        (MyLayerNorm2d(), "bias_and_norm", None),
        (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, affine=False)), "none", None),
        (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, affine=False)), "bias_and_norm", None),
    ],
)
def test_the_note_on_skip_knows_the_same_normalizations(net: nn.Module, skip: str, note: str | None) -> None:
    found = note_on_skip(run_with({"kind": "lars", "skip": skip}), net)
    assert (found or "").startswith(note or "")
    assert bool(found) == bool(note)
