"""The torch-free tables of layers agree with the nets themselves."""

import pytest
import torch

from contract.spec.choices import models as choices
from trainers.build.models import build_image_model
from trainers.layer_shapes import gpt_shapes, layer_shapes
from trainers.models.gpt import GPT
from trainers.preconditioners.layers import ConvolutionLayer, find_layers

MODELS: list[tuple[choices.Model, int]] = [
    (choices.ConvNet(width=8), 28),
    (choices.LeNet(), 28),
    (choices.AlexNet(), 227),
    (choices.AlexNet(groups=1), 99),
    (choices.AlexNetBN(), 227),
    (choices.NiN(), 227),
    (choices.GoogLeNet(), 224),
    (choices.GoogLeNet(aux_weight=0.0), 96),
    (choices.GoogLeNetBN(), 224),
    (choices.GoogLeNetBN(), 100),
    (choices.VGG(kind="vgg16"), 64),
    (choices.VGG(), 224),
    (choices.ResNet(kind="resnet18"), 64),
    (choices.ResNet(kind="resnet50"), 224),
    (choices.ResNet50V2(), 224),
]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("model", "pixels"), MODELS, ids=lambda value: getattr(value, "kind", str(value)))
def test_the_table_of_a_net_is_the_net(model: choices.Model, pixels: int) -> None:
    with torch.device("meta"):
        net = build_image_model(model, 3, 1000)
    layers, locations = find_layers(net)[0], {}
    for layer in layers:
        layer.module.register_forward_hook(
            lambda module, _, output: locations.update({module: output[0][0].numel() if output.dim() == 4 else 1})
        )
    net(torch.empty(2, 3, pixels, pixels, device="meta"))
    found = [(block.inputs, block.outputs, locations[layer.module]) for layer in layers for block in layer.blocks]
    table = layer_shapes(model, channels=3, pixels=pixels, classes=1000)
    assert [(each.block.inputs, each.block.outputs, each.locations) for each in table] == found
    assert any(isinstance(layer, ConvolutionLayer) for layer in layers)


@pytest.mark.parametrize("is_tied", [True, False])
def test_the_table_of_a_gpt_is_the_net(is_tied: bool) -> None:
    model = choices.GPT(layers=2, width=32, heads=4, tied_head=is_tied)
    with torch.device("meta"):
        net = GPT(100, context=16, width=32, layers=2, heads=4, has_tied_head=is_tied)
    found = [
        (layer.name, block.inputs, block.outputs, block.is_diagonal)
        for layer in find_layers(net)[0]
        for block in layer.blocks
    ]
    table = [each.block for each in gpt_shapes(model, context=16, vocabulary=100)]
    assert sorted((block.name, block.inputs, block.outputs, block.is_diagonal) for block in table) == sorted(found)
