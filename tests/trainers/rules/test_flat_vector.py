"""A flat vector keeps the layout of the weights: channels innermost, and cuDNN's block of an LSTM's weights."""

import pytest
import torch
from torch import Tensor, nn

from trainers.rules.flat_vector import PackedGradients, flatten_weights, order_in_memory, views
from trainers.training.placement import place


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4, 2))


def pack_as_cudnn(lstm: nn.LSTM) -> Tensor:
    """Move the weights of an LSTM into one block, all matrices first, as RNNBase.flatten_parameters does on a GPU."""
    names = sorted(lstm._flat_weights_names, key=lambda name: name.startswith("bias"))
    weights = [getattr(lstm, name) for name in names]
    block_N = torch.cat([w.detach().flatten() for w in weights])
    for w, view in zip(weights, views(block_N, weights), strict=True):
        w.data = view
    return block_N


def test_weights_with_channels_last_keep_their_values_and_strides() -> None:
    model = net()
    place(model, torch.device("cpu"), channels_last=True)
    before = [(p.detach().clone(), p.stride()) for p in model.parameters()]
    x_N = flatten_weights(list(model.parameters()))
    assert model[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert not model[0].weight.is_contiguous()
    for p, (values, strides) in zip(model.parameters(), before, strict=True):
        assert torch.equal(p, values)
        assert p.stride() == strides
    x_N.zero_()
    assert all(not p.any() for p in model.parameters())


def test_gradients_have_the_strides_of_their_weights() -> None:
    model = net()
    place(model, torch.device("cpu"), channels_last=True)
    flatten_weights(list(model.parameters()))
    gradients = PackedGradients(model.parameters())
    model(torch.randn(5, 3, 3, 3).to(memory_format=torch.channels_last)).sum().backward()
    gradients.gather(1.0)
    assert [p.grad.stride() for p in model.parameters() if p.grad is not None] == [
        p.stride() for p in model.parameters()
    ]
    with torch.no_grad():  # a flat step must be the step of each layer
        expected = [p - p.grad for p in model.parameters() if p.grad is not None]
        x_N = flatten_weights(list(model.parameters()))
        x_N -= gradients.flat_N
    assert all(torch.equal(p, new) for p, new in zip(model.parameters(), expected, strict=True))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_an_lstm_stays_in_the_block_that_cudnn_reads(bidirectional: bool) -> None:
    torch.manual_seed(0)
    model = nn.ModuleList([nn.Linear(5, 3), nn.LSTM(3, 4, bidirectional=bidirectional), nn.Linear(4, 1)])
    lstm = model[1]
    assert isinstance(lstm, nn.LSTM)
    block_N = pack_as_cudnn(lstm).clone()
    x_TBD = torch.randn(6, 2, 3)
    expected = lstm(x_TBD)[0]
    params = order_in_memory(list(model.parameters()))
    names = {p: name for name, p in model.named_parameters()}
    kinds = [names[p].split(".")[1][:6] for p in params if names[p].startswith("1.")]
    assert kinds == ["weight"] * (4 if bidirectional else 2) + ["bias_i", "bias_h"] * (2 if bidirectional else 1)
    x_N = flatten_weights(params)
    # cuDNN looks for the weights from the beginning of their storage on (try_get_weight_buf in ATen's RNN.cpp)
    storages = {w.untyped_storage().data_ptr() for w in lstm.parameters()}
    assert len(storages) == 1
    whole_N = torch.empty(0).set_(next(lstm.parameters()).untyped_storage())
    assert torch.equal(whole_N, block_N)
    assert torch.equal(lstm(x_TBD)[0], expected)
    x_N.zero_()
    assert not whole_N.any()


def test_without_shared_storages_the_order_stays() -> None:
    model = net()
    assert order_in_memory(list(model.parameters())) == list(model.parameters())


def test_parameters_out_of_order_are_refused() -> None:
    lstm = nn.LSTM(3, 4, bidirectional=True)
    pack_as_cudnn(lstm)
    with pytest.raises(ValueError, match="order_in_memory"):
        flatten_weights(list(lstm.parameters()))
