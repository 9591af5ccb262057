"""The closed forms of a GPT and a 3-D U-Net are what torch saves and computes, and what it allocates."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from contract.spec.choices.data import Text
from contract.spec.choices.models import GPT, UNet3D
from study.planner.text_and_volumes import SampleCosts, gpt_costs, unet_costs
from trainers.build.models import build_language_model
from trainers.models.unet3d import UNet3D as UNet3DNet
from trainers.profiles.measure import id_of

GPTS = [(2, 32, 4, 16), (3, 64, 4, 40), (1, 96, 8, 64)]  # layers, width, heads, tokens
UNETS = [((1, 8, 8, 8), 2, 4, 3), ((2, 10, 12, 9), 3, 4, 3), ((1, 8, 8, 8), 2, 2, 1)]  # shape, classes, width, levels


def measure(net: nn.Module, batch: Any) -> tuple[float, list[int]]:
    """Return the operations of a forward pass, and the bytes of each saved storage besides weights and the batch."""
    x, y = batch
    own = {id_of(tensor) for tensor in (*net.parameters(), x, y)}
    found: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        if id_of(tensor) not in own:
            found[id_of(tensor)] = tensor
        return tensor

    with FlopCounterMode(display=False) as counter, saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = net(x)
        loss = cross_entropy(logits, y) if logits.dim() == 5 else cross_entropy(logits.flatten(0, 1), y.flatten())
    assert loss.requires_grad
    return counter.get_total_flops(), [tensor.untyped_storage().nbytes() for tensor in found.values()]


def of_a_sample(net: nn.Module, make: Any) -> SampleCosts:
    (few_flops, few), (many_flops, many) = measure(net, make(2)), measure(net, make(4))
    per_sample = (many_flops - few_flops) / 2, (sum(many) - sum(few)) / 2
    return SampleCosts(*per_sample, max(many) / 4, sum(tensor.nbytes for tensor in make(1)))


@pytest.mark.parametrize(("layers", "width", "heads", "tokens"), GPTS)
def test_a_gpt_saves_and_computes_what_its_form_says(layers: int, width: int, heads: int, tokens: int) -> None:
    model, data = GPT(layers=layers, width=width, heads=heads), Text(context=tokens)
    words = torch.zeros(4, tokens, dtype=torch.int64)
    found = of_a_sample(build_language_model(model, data), lambda count: (words[:count].clone(), words[:count].clone()))
    said = gpt_costs(model, data)
    assert said.saved_bytes == found.saved_bytes
    assert said.largest_bytes == found.largest_bytes
    assert said.input_bytes == found.input_bytes
    # torch does not count the attention of a CPU: two products of T x T scores and a head's vectors
    assert said.forward_flops == found.forward_flops + 4 * tokens**2 * width * layers


@pytest.mark.parametrize(("shape", "classes", "width", "levels"), UNETS)
def test_a_3d_u_net_saves_and_computes_what_its_form_says(
    shape: tuple[int, int, int, int], classes: int, width: int, levels: int
) -> None:
    model, sides = UNet3D(width=width, levels=levels), shape[1:]
    net = UNet3DNet(shape[0], classes, width=width, levels=levels)
    found = of_a_sample(net, lambda count: (torch.zeros(count, *shape), torch.zeros(count, *sides, dtype=torch.int64)))
    said = unet_costs(model, shape, classes)
    assert said.saved_bytes == found.saved_bytes
    assert said.largest_bytes == found.largest_bytes
    assert said.input_bytes == found.input_bytes
    assert said.forward_flops == found.forward_flops
