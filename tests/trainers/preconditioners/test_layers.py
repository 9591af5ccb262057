"""The layers of K-FAC: embeddings as linear layers of one-hot vectors, paddings, pieces, and what is skipped."""

from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot
from torch.nn.utils.parametrizations import weight_norm

from trainers.preconditioners import layers
from trainers.preconditioners.kfac import KFAC
from trainers.preconditioners.layers import ConvolutionLayer, find_layers
from trainers.preconditioners.options import KFACOptions, Method

TOKENS, UNITS = 9, 4


class OneHot(nn.Module):
    """One-hot vectors of tokens."""

    def forward(self, x_BT: Tensor) -> Tensor:
        return one_hot(x_BT, TOKENS).double()


@pytest.mark.parametrize("method", ["eigen", "inverse"])
def test_an_embedding_equals_a_linear_layer_of_one_hot_vectors(method: Method) -> None:
    torch.manual_seed(0)
    embedding = nn.Embedding(TOKENS, UNITS).double()
    linear = nn.Linear(TOKENS, UNITS, bias=False).double()
    with torch.no_grad():
        linear.weight.copy_(embedding.weight.T)
    head = nn.Linear(3 * UNITS, 5).double()
    nets = [nn.Sequential(embedding, nn.Flatten(), head), nn.Sequential(OneHot(), linear, nn.Flatten(), head)]
    x_BT, y_B = torch.randint(TOKENS, (8, 3)), torch.randint(5, (8,))
    for net in nets:
        head.zero_grad()
        optimizer = torch.optim.SGD(net[:2].parameters(), lr=0.5)
        KFAC(net, KFACOptions(method=method, skip=["2", "3"], kl_clip=None)).attach(optimizer)
        torch.autograd.backward(cross_entropy(net(x_BT), y_B))
        optimizer.step()
    torch.testing.assert_close(embedding.weight, linear.weight.T, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("padding", [(2, 1), "same"])
@pytest.mark.parametrize("mode", ["zeros", "reflect"])
def test_the_columns_of_a_convolution_give_its_output(
    padding: tuple[int, int] | str, mode: Literal["zeros", "reflect"]
) -> None:
    module = nn.Conv2d(4, 6, (3, 2), padding=padding, dilation=(1, 2), groups=2, padding_mode=mode).double()
    x_BCHW = torch.randn(3, 4, 7, 8, dtype=torch.float64)
    columns_QCN = ConvolutionLayer("0", module)._columns(x_BCHW)
    kernel_QRC = module.weight.reshape(2, 3, -1)
    assert module.bias is not None
    y_BCHW = module(x_BCHW) - module.bias[:, None, None]
    y_QRN = y_BCHW.reshape(3, 2, 3, -1).permute(1, 2, 0, 3).reshape(2, 3, -1)
    torch.testing.assert_close(kernel_QRC @ columns_QCN, y_QRN)


def test_pieces_of_a_batch_have_the_sums_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x_BCHW = ConvolutionLayer("0", nn.Conv2d(2, 3, 3).double()), torch.randn(7, 2, 6, 6, dtype=torch.float64)
    whole, rows = layer.input_sums(x_BCHW)
    monkeypatch.setattr(layers, "PIECE_NUMBERS", 2 * 36 * 9 * 2)
    parts, rows_of_parts = layer.input_sums(x_BCHW)
    torch.testing.assert_close(parts, whole)
    assert rows == rows_of_parts == 7 * 16


def test_layers_are_skipped_by_name_kind_size_and_frozen_or_shared_weights() -> None:
    net = nn.ModuleDict(
        {
            "embedding": nn.Embedding(9, 4),
            "first": nn.Linear(4, 4),
            "frozen": nn.Linear(4, 4).requires_grad_(False),
            "wide": nn.Linear(4, 50),
            "norm": nn.BatchNorm1d(4),
            "image": nn.Conv2d(2, 2, 3),
            "head": nn.Linear(4, 9, bias=False),
        }
    )
    net["head"].weight = net["embedding"].weight
    found, unused = find_layers(net, skip=["fir*", "Conv2d", "missing"], largest=40)
    assert [layer.name for layer in found] == ["head"]
    assert unused == ["missing"]
    assert [layer.name for layer in find_layers(net)[0]] == ["first", "wide", "image", "head"]
    assert [layer.name for layer in find_layers(net, skip=["head"])[0]] == ["embedding", "first", "wide", "image"]


def test_a_net_without_such_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="finds no linear layer"):
        KFAC(nn.Sequential(nn.BatchNorm1d(3)), KFACOptions())


def precondition(net: nn.Module, x_BD: Tensor, *, freeze_later: Tensor | None = None) -> list[Tensor | None]:
    """Return the gradients of a step with K-FAC; `freeze_later`: a parameter that the net freezes after the start."""
    kfac = KFAC(net, KFACOptions(kl_clip=None))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    kfac.attach(optimizer)
    if freeze_later is not None:
        freeze_later.requires_grad_(False)
    net(x_BD).square().sum().backward()
    optimizer.step()
    return [p.grad for p in net.parameters()]


def test_a_layer_with_a_frozen_bias_is_preconditioned_as_one_without_bias() -> None:
    torch.manual_seed(0)
    x_BD, layer = torch.randn(5, 3), nn.Linear(3, 2)
    nn.init.zeros_(layer.bias)
    layer.bias.requires_grad_(False)
    bare = nn.Linear(3, 2, bias=False)
    bare.weight.data.copy_(layer.weight)
    [found, of_bias], [expected] = precondition(layer, x_BD), precondition(bare, x_BD)
    assert found is not None
    assert expected is not None
    assert of_bias is None
    torch.testing.assert_close(found, expected)


def test_a_bias_that_is_frozen_after_the_start_stays_without_a_gradient() -> None:
    layer = nn.Linear(3, 2)
    weight, bias = precondition(layer, torch.randn(5, 3), freeze_later=layer.bias)
    assert weight is not None
    assert bias is None


def test_a_parametrized_layer_takes_its_plain_gradient() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 3), weight_norm(nn.Linear(3, 2)))
    x_BD = torch.randn(5, 3)
    net(x_BD).square().sum().backward()
    expected = [p.grad.clone() for p in net[1].parameters() if p.grad is not None]
    net.zero_grad()
    found = precondition(net, x_BD)
    assert [layer.name for layer in find_layers(net)[0]] == ["0"]
    for grad, of_layer in zip(found[2:], expected, strict=True):
        assert grad is not None
        torch.testing.assert_close(grad, of_layer)
