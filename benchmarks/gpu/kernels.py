"""Checks of single kernels: group batch normalization, TF32, and the layout of an LSTM's weights."""

import warnings
from functools import partial
from unittest import mock

import torch
import torch.distributed as dist
from torch import Tensor, nn

from benchmarks.gpu.place import Figures, Place, check_close
from contract.spec.normalization import BatchNorm
from trainers.build.normalization import set_up_batch_norm
from trainers.models import group_batch_norm
from trainers.rules.flat_vector import flatten_weights, order_in_memory
from trainers.training.placement import place as place_net
from trainers.training.placement import set_kernels

FORMAT_WARNING = "not part of single contiguous chunk"  # of a cuDNN LSTM that copies its weights in every pass


def check_group_norm(place: Place) -> Figures:
    """Compare group batch normalization by fused kernels with the plain one, and time both in both layouts."""
    world, found = dist.get_world_size(), Figures()
    batch, channels, pixels = place.size(64, 2), place.size(256, 4), place.size(28, 4)
    for layout in (torch.contiguous_format, torch.channels_last):
        generator = torch.Generator().manual_seed(dist.get_rank())
        x_BCHW = torch.randn(batch, channels, pixels, pixels, generator=generator) * (1 + dist.get_rank())
        x_BCHW = x_BCHW.to(place.device).to(memory_format=layout)
        results, seconds = [], []
        for fused in (False, True) if place.is_gpu else (False, False):
            with mock.patch.object(group_batch_norm, "has_fused_kernels", return_value=fused):
                net = nn.Sequential(nn.BatchNorm2d(channels)).to(place.device)
                set_up_batch_norm(net, BatchNorm(group=world), timed=lambda gather: gather)
                results.append(_pass(net, x_BCHW))
                seconds.append(place.seconds(partial(_pass, net, x_BCHW)))
        for name, plain, fused_x in zip(("y", "dx", "running variance"), *results, strict=True):
            check_close(fused_x, plain, tolerance=2e-3, name=f"group batch normalization, {name}")
        found[str(layout)] = {"plain_s": seconds[0], "fused_s": seconds[1]}
    return found


def _pass(net: nn.Sequential, x_BCHW: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x_BCHW = x_BCHW.detach().requires_grad_()
    y_BCHW = net(x_BCHW)
    y_BCHW.square().sum().backward()
    assert x_BCHW.grad is not None
    variance_C = net[0].running_var
    assert isinstance(variance_C, Tensor)
    return y_BCHW.detach(), x_BCHW.grad, variance_C.clone()


def check_tf32(place: Place) -> Figures:
    """Measure the error of float32 convolutions and products with and without TF32, against float64."""
    torch.manual_seed(0)
    channels = place.size(256, 4)
    conv = nn.Conv2d(channels, channels, 3).to(place.device)
    x_BCHW, a_NN = torch.randn(4, channels, 16, 16, device=place.device), torch.randn(256, 256, device=place.device)
    found = Figures()
    with torch.no_grad():
        for tf32 in (False, True):
            set_kernels(tf32=tf32, cudnn_benchmark=tf32)
            conv_y, product = conv(x_BCHW), a_NN @ a_NN
            exact_y, exact = conv.double()(x_BCHW.double()), a_NN.double() @ a_NN.double()
            conv.float()
            # float32 has 24 bits of mantissa, TF32 has 11
            for name, y, exact_value in (("conv", conv_y, exact_y), ("product", product, exact)):
                scale = float(exact_value.abs().max())
                limit = scale * (1e-2 if tf32 else 1e-5)
                key = f"{name} {'tf32' if tf32 else 'float32'}"
                found[key] = check_close(y, exact_value, tolerance=limit, name=key) / scale
    set_kernels(tf32=False, cudnn_benchmark=False)
    return found


def check_lstm_weights(place: Place) -> Figures:
    """Check that cuDNN's block of an LSTM's weights stays one block in a flat vector of all weights."""
    torch.manual_seed(0)
    units = place.size(256, 8)
    net = nn.ModuleList([nn.Linear(units, units), nn.LSTM(units, units, bidirectional=True), nn.LSTM(units, units)])
    place_net(net, place.device, channels_last=False)
    params = order_in_memory(list(net.parameters()))
    x_TBD = torch.randn(5, 4, units, device=place.device)
    expected = [lstm(x_TBD)[0].detach() for lstm in list(net)[1:]]
    x_N = flatten_weights(params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for lstm, before in zip(list(net)[1:], expected, strict=True):
            y_TBD = lstm(x_TBD)[0]
            check_close(y_TBD, before, tolerance=1e-5, name="an LSTM after flatten_weights")
            y_TBD.sum().backward()
    copies = sum(FORMAT_WARNING in str(warning.message) for warning in caught)
    if copies:
        raise AssertionError("cuDNN copies the weights of an LSTM in a flat vector at every pass")
    return {"elements": x_N.numel(), "storages": len({p.untyped_storage().data_ptr() for p in params})}
